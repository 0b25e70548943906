// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <memory>

#include "base/float_environment.hpp"
#include "operands.hpp"
#include "state.hpp"

namespace quarry::fake {
namespace {

using backend::cuda::Variant;
using Kind = Variant::Kind;

/// The arguments of a template, cut at the commas outside of brackets.
std::vector<std::string> template_arguments(std::string_view text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '<' || c == '(' || c == '{') - (c == '>' || c == ')' || c == '}');
    if (c == ',' && depth == 0) {
      arguments.emplace_back();
    } else if (c != ' ' || !arguments.back().empty()) {
      arguments.back() += c;
    }
  }
  return arguments;
}

template <class T = std::uint8_t>
T number(const std::string& text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::size_t scalars_at(const kernels::program& program, std::size_t head) {
  return head + static_cast<std::size_t>(program.inputs) + 1;
}

std::size_t shape_at(const kernels::program& program, std::size_t head) {
  return scalars_at(program, head) + 2 * static_cast<std::size_t>(program.scalars);
}

CUresult illegal(const Launch& launch, const std::string& what) {
  add_fault(launch.expression + ": " + what);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult misaligned(const Launch& launch) {
  add_fault(launch.expression + ": an operand is not aligned for vectors");
  return CUDA_ERROR_MISALIGNED_ADDRESS;
}

std::int64_t word(const Launch& launch, std::size_t i) {
  return static_cast<std::int64_t>(launch.words[i]);
}

Operands operands_of(const Launch& launch, std::size_t head, bool has_output = true) {
  const kernels::program& program = *launch.program;
  const int rank = launch.variant.rank + launch.variant.reduced_rank;
  const std::uint64_t* const words = launch.words.data();
  const std::uint64_t* const shape = words + shape_at(program, head);
  return Operands({.device = launch.device,
                   .count = program.inputs + 1,
                   .rank = rank,
                   .pointers = words + head,
                   .shape = shape,
                   .strides = shape + rank,
                   .itemsize = program.itemsize,
                   .has_wide_index = launch.variant.wide_index,
                   .has_output = has_output});
}

CUresult run_flat(const Launch& launch) {
  const kernels::program& program = *launch.program;
  const std::int64_t n = word(launch, 0);
  const std::int64_t width = launch.variant.width;
  if (launch.grid_x * launch.block_x * width < n)
    return illegal(launch, "the grid covers too little");
  std::vector<char*> addresses;
  std::vector<std::int64_t> strides;
  for (int k = 0; k <= program.inputs; ++k) {
    const std::uint64_t at = launch.words[1 + static_cast<std::size_t>(k)];
    const std::uint32_t size = program.itemsize[k];
    const auto unit = static_cast<std::uint64_t>(width) * size;
    const bool is_legal = width == 1 ? at % program.alignment[k] == 0
                                     : std::has_single_bit(size) && unit <= 16 && at % unit == 0;
    if (!is_legal) return misaligned(launch);
    std::byte* const memory =
        state().memory.find(at, static_cast<std::size_t>(n) * size, launch.device);
    if (!memory) return illegal(launch, "operand " + std::to_string(k) + " is not in live memory");
    addresses.push_back(reinterpret_cast<char*>(memory));
    strides.push_back(size);
  }
  program.map(n, addresses.data(), strides.data(), launch.words.data() + scalars_at(program, 1), 0);
  return CUDA_SUCCESS;
}

/// Whether operand k may be accessed by vectors along the last axis.
bool is_aligned(const Launch& launch, const Operands& operands, int k, std::uint64_t pointer) {
  const std::uint32_t size = launch.program->itemsize[k];
  const auto unit = static_cast<std::uint64_t>(launch.variant.width) * size;
  const int last = launch.variant.rank + launch.variant.reduced_rank - 1;
  std::uint64_t places = pointer;
  for (int axis = 0; axis < last; ++axis) {
    places |= static_cast<std::uint64_t>(operands.stride(k, axis));
  }
  return operands.stride(k, last) == size && std::has_single_bit(size) && unit <= 16 &&
         places % unit == 0;
}

/// Whether every element of operand k lies where the hardware can access it.
bool is_natural(const Launch& launch, const Operands& operands, int k, std::uint64_t pointer) {
  std::uint64_t places = pointer;
  for (int axis = 0; axis < launch.variant.rank + launch.variant.reduced_rank; ++axis) {
    if (operands.extent(axis) > 1) places |= static_cast<std::uint64_t>(operands.stride(k, axis));
  }
  return places % launch.program->alignment[k] == 0;
}

/// Whether the inputs, and with `has_output` the output, may be accessed as the kernel's name says.
bool has_legal_vectors(const Launch& launch, const Operands& operands, std::size_t head,
                       bool has_output) {
  const Variant& variant = launch.variant;
  for (int k = has_output ? 0 : 1; k < operands.count(); ++k) {
    const std::uint64_t pointer = launch.words[head + static_cast<std::size_t>(k)];
    if (!is_natural(launch, operands, k, pointer)) return false;
  }
  if (variant.width == 1) return variant.wide == 0;
  const int last = variant.rank + variant.reduced_rank - 1;
  for (int k = has_output ? 0 : 1; k < operands.count(); ++k) {
    const bool is_wide = k == 0 || (variant.wide >> (k - 1) & 1) != 0;
    const std::uint64_t pointer = launch.words[head + static_cast<std::size_t>(k)];
    if (is_wide ? !is_aligned(launch, operands, k, pointer) : operands.stride(k, last) != 0) {
      return false;
    }
  }
  return true;
}

/// Idle columns that the kernel adds before the first one, so that rows begin at lines of 128
/// bytes.
std::int64_t lead(const Launch& launch, const Operands& operands, std::int64_t columns) {
  const std::uint32_t size = launch.program->itemsize[0];
  const bool is_dense = operands.stride(0, launch.variant.rank - 1) == size;
  if (columns < 1024 || !is_dense || !std::has_single_bit(size) || size > 16) return 0;
  return static_cast<std::int64_t>(launch.words[1] % 128 / size);
}

/// One row of a strided map.
bool run_row(const Launch& launch, const Operands& operands, std::int64_t row) {
  const kernels::program& program = *launch.program;
  const int inner = launch.variant.rank - 1;
  const std::int64_t columns = operands.extent(inner), step = operands.run(columns);
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, inner));
  std::vector<char*> addresses;
  for (std::int64_t column = 0; column < columns; column += step) {
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, row, 0, inner);
    operands.advance(offsets, column, inner, inner + 1);
    if (!operands.resolve(offsets, addresses)) return false;
    program.map(step, addresses.data(), strides.data(),
                launch.words.data() + scalars_at(program, 1), row * columns + column);
  }
  return true;
}

CUresult run_strided(const Launch& launch) {
  const Operands operands = operands_of(launch, 1);
  const std::int64_t n = word(launch, 0), columns = operands.extent(launch.variant.rank - 1);
  if (n <= 0 || columns <= 0 || n % columns != 0)
    return illegal(launch, "the shape is not the size");
  const std::int64_t width = launch.variant.width;
  if (launch.grid_x * launch.block_x * width < columns + lead(launch, operands, columns))
    return illegal(launch, "the grid covers too little");
  if (columns % width != 0 || !has_legal_vectors(launch, operands, 1, true))
    return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const std::int64_t rows = n / columns;
  const auto first = static_cast<std::int64_t>(launch.seed % static_cast<std::uint64_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!run_row(launch, operands, (first + row) % rows)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

struct AlignedFree {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
using Accumulator = std::unique_ptr<void, AlignedFree>;

Accumulator new_accumulator(const kernels::program& program) {
  return Accumulator(::operator new (program.accumulator_size, std::align_val_t{64}));
}

constexpr std::size_t reduce_head = 3;

/// Folds the reduced elements [begin, end) of one output into `accumulator`.
bool fold(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
          void* accumulator, std::int64_t begin, std::int64_t end) {
  const kernels::program& program = *launch.program;
  const int first = launch.variant.rank, last = first + launch.variant.reduced_rank;
  const std::int64_t columns = last > first ? operands.extent(last - 1) : 1;
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) {
    strides.push_back(last > first ? operands.stride(k, last - 1) : 0);
  }
  std::vector<char*> addresses;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t n = operands.run(std::min(columns - i % columns, end - i));
    Operands::Offsets offsets = base;
    operands.advance(offsets, i, first, last);
    if (!operands.resolve(offsets, addresses)) return false;
    program.reduce->run(accumulator, n, addresses.data(), strides.data(),
                        launch.words.data() + scalars_at(program, reduce_head), i);
    i += n;
  }
  return true;
}

/// The part of one output that the blocks of one split compute.
bool reduce_output(const Launch& launch, const Operands& operands, std::int64_t output,
                   std::int64_t split, std::byte* partial) {
  const kernels::program& program = *launch.program;
  const std::int64_t kept = word(launch, 0), reduced = word(launch, 1), chunk = word(launch, 2);
  Operands::Offsets base = operands.start();
  operands.advance(base, output, 0, launch.variant.rank);
  const Accumulator accumulator = new_accumulator(program);
  program.reduce->begin(accumulator.get(), 1);
  const std::int64_t begin = split * chunk, end = std::min(begin + chunk, reduced);
  if (!fold(launch, operands, base, accumulator.get(), begin, end)) return false;
  if (partial) {
    const auto slot = static_cast<std::size_t>(split * kept + output);
    std::copy_n(static_cast<const std::byte*>(accumulator.get()), program.accumulator_size,
                partial + slot * program.accumulator_size);
    return true;
  }
  std::vector<char*> addresses;
  if (!operands.resolve(base, addresses)) return false;
  program.reduce->finish(addresses[0], 0, accumulator.get(), 1, reduced);
  return true;
}

/// Empty when the geometry computes every output from every element once.
std::string wrong_geometry(const Launch& launch) {
  const std::int64_t kept = word(launch, 0), reduced = word(launch, 1), chunk = word(launch, 2);
  const std::int64_t a_block = launch.variant.along_reduced ? launch.block_y : launch.block_x;
  const auto is_power = [](std::int64_t n) {
    return std::has_single_bit(static_cast<std::uint64_t>(n));
  };
  if (!is_power(launch.block_x) || !is_power(launch.block_y)) return "a block is no power of two";
  if (launch.block_x * launch.block_y < 32) return "a block is less than a warp";
  if (launch.grid_x * a_block < kept) return "the grid covers too few outputs";
  if (chunk <= 0 || launch.grid_y * chunk < reduced) return "the splits cover too little";
  if (launch.grid_y > 1 && !launch.partial) return "several splits write one output";
  return {};
}

CUresult run_reduce(const Launch& launch) {
  const kernels::program& program = *launch.program;
  if (const std::string wrong = wrong_geometry(launch); !wrong.empty())
    return illegal(launch, wrong);
  const std::int64_t kept = word(launch, 0), splits = launch.grid_y;
  const Operands operands = operands_of(launch, reduce_head, launch.partial == 0);
  const Variant& variant = launch.variant;
  const bool has_one_axis = variant.along_reduced && variant.reduced_rank == 1;
  if (variant.width > 1 && (!has_one_axis || word(launch, 2) % variant.width != 0))
    return illegal(launch, "vectors need chunks of whole vectors along one axis");
  if (!has_legal_vectors(launch, operands, reduce_head, false)) return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  std::byte* partial = nullptr;
  if (launch.partial) {
    const auto bytes = static_cast<std::size_t>(splits * kept) * program.accumulator_size;
    partial = state().memory.find(launch.partial, bytes, launch.device);
    if (!partial) return illegal(launch, "the partial results are not in live memory");
  }
  for (std::int64_t i = 0; i < splits * kept; ++i) {
    if (!reduce_output(launch, operands, i % kept, i / kept, partial)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

CUresult run_finish(const Launch& launch) {
  const kernels::program& program = *launch.program;
  const std::int64_t kept = word(launch, 2), splits = word(launch, 3), count = word(launch, 4);
  const std::size_t item = program.accumulator_size, out_item = program.itemsize[0];
  if (!std::has_single_bit(static_cast<std::uint64_t>(launch.block_x)) || launch.block_x > 128) {
    return illegal(launch, "a block is no power of two up to 128");
  }
  const auto size = [](std::int64_t n, std::size_t bytes) {
    return static_cast<std::size_t>(n) * bytes;
  };
  std::byte* const out = state().memory.find(launch.words[0], size(kept, out_item), launch.device);
  const std::byte* const partial =
      state().memory.find(launch.words[1], size(splits * kept, item), launch.device);
  if (!out || !partial) return illegal(launch, "an operand is not in live memory");
  const Accumulator accumulator = new_accumulator(program);
  for (std::int64_t output = 0; output < kept; ++output) {
    program.reduce->begin(accumulator.get(), 1);
    for (std::int64_t split = 0; split < splits; ++split) {
      program.reduce->merge(accumulator.get(), partial + size(split * kept + output, item), 1);
    }
    program.reduce->finish(out + size(output, out_item), 0, accumulator.get(), 1, count);
  }
  return CUDA_SUCCESS;
}

}  // namespace

std::optional<KernelName> parse_kernel(std::string_view expression) {
  constexpr std::string_view space = "quarry::kernels::";
  if (!expression.starts_with(space) || !expression.ends_with('>')) return std::nullopt;
  expression.remove_prefix(space.size());
  const auto open = expression.find('<');
  if (open == expression.npos) return std::nullopt;
  const std::string_view name = expression.substr(0, open);
  const auto arguments =
      template_arguments(expression.substr(open + 1, expression.size() - open - 2));
  const std::size_t n = arguments.size();
  const auto is_wide = [&](std::size_t i) { return arguments[i] == "long"; };
  if (name == "map_flat" && n == 2) {
    return KernelName{{.kind = Kind::map_flat, .width = number(arguments[1])}, arguments[0]};
  }
  if (name == "map_strided" && n == 6) {
    return KernelName{{.kind = Kind::map_strided,
                       .width = number(arguments[4]),
                       .rows = number(arguments[3]),
                       .rank = number(arguments[1]),
                       .wide_index = is_wide(2),
                       .wide = number<std::uint16_t>(arguments[5])},
                      arguments[0]};
  }
  if (name == "reduce" && n == 7) {
    return KernelName{{.kind = Kind::reduce,
                       .width = number(arguments[5]),
                       .rank = number(arguments[1]),
                       .reduced_rank = number(arguments[2]),
                       .wide_index = is_wide(3),
                       .along_reduced = arguments[4] == "1",
                       .wide = number<std::uint16_t>(arguments[6])},
                      arguments[0]};
  }
  if (name == "reduce_finish" && n == 1)
    return KernelName{{.kind = Kind::reduce_finish}, arguments[0]};
  return std::nullopt;
}

std::size_t block_words(const kernels::program& program, const Variant& variant) {
  const bool is_map = variant.kind == Kind::map_flat || variant.kind == Kind::map_strided;
  const std::size_t rank = std::size_t{variant.rank} + variant.reduced_rank;
  return shape_at(program, is_map ? 1 : reduce_head) +
         rank * (static_cast<std::size_t>(program.inputs) + 2);
}

CUresult run_launch(const Launch& launch) {
  const FloatEnvironment environment;  // a GPU has one of its own
  switch (launch.variant.kind) {
    case Kind::map_flat:
      return run_flat(launch);
    case Kind::map_strided:
      return run_strided(launch);
    case Kind::reduce:
      return run_reduce(launch);
    case Kind::reduce_finish:
      return run_finish(launch);
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace quarry::fake
