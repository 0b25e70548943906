// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include <quarry/kernels/reduce.hpp>

#include "backend/cpu/runs.hpp"
#include "kernel.hpp"
#include "state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

const kernels::reduce_loops& loops_of(const Launch& launch) {
  return *static_cast<const kernels::reduce_loops*>(launch.program->loops);
}

struct AlignedFree {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
using Accumulator = std::unique_ptr<void, AlignedFree>;

Accumulator new_accumulator(const Launch& launch) {
  Accumulator accumulator(
      ::operator new (loops_of(launch).fold->accumulator_size, std::align_val_t{64}));
  loops_of(launch).fold->begin(accumulator.get(), 1);
  return accumulator;
}

/// The arguments of reduce<PROGRAM, ...>.
struct Variant {
  explicit Variant(const Launch& launch)
      : kept_rank(launch.argument(0)),
        reduced_rank(launch.argument(1)),
        has_wide_index(launch.argument(2) == 8),
        is_along(launch.argument(3) == 1),
        width(launch.argument(4)),
        wide(launch.argument(5)) {}
  int kept_rank, reduced_rank;
  bool has_wide_index, is_along;
  int width, wide;
};

/// Folds the reduced elements [begin, end) of one output into `accumulator`.
bool fold(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
          void* accumulator, std::int64_t begin, std::int64_t end) {
  const Variant variant(launch);
  const int first = variant.kept_rank, last = launch.rank();
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
    backend::cpu_backend::fold_run(loops_of(launch), accumulator, n, addresses.data() + 1,
                                   strides.data() + 1, launch.scalars(), i);
    i += n;
  }
  return true;
}

/// The part of one output that the blocks of one split compute.
bool reduce_output(const Launch& launch, const Operands& operands, std::int64_t output,
                   std::int64_t split, std::byte* partial) {
  const std::int64_t kept = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced),
                     chunk = launch.word(block_places::chunk);
  const std::size_t size = loops_of(launch).fold->accumulator_size;
  Operands::Offsets base = operands.start();
  operands.advance(base, output, 0, launch.argument(0));
  const Accumulator accumulator = new_accumulator(launch);
  const std::int64_t begin = split * chunk, end = std::min(begin + chunk, reduced);
  if (!fold(launch, operands, base, accumulator.get(), begin, end)) return false;
  if (partial) {
    const auto slot = static_cast<std::size_t>(split * kept + output);
    std::copy_n(static_cast<const std::byte*>(accumulator.get()), size, partial + slot * size);
    return true;
  }
  std::vector<char*> addresses;
  if (!operands.resolve(base, addresses)) return false;
  loops_of(launch).finish(addresses[0], 0, accumulator.get(), 1, reduced, launch.scalars());
  return true;
}

/// Empty when the geometry computes every output from every element once.
std::string wrong_geometry(const Launch& launch) {
  const Variant variant(launch);
  const std::int64_t kept = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced),
                     chunk = launch.word(block_places::chunk);
  const std::int64_t a_block = variant.is_along ? launch.block_y : launch.block_x;
  const auto is_power = [](std::int64_t n) {
    return std::has_single_bit(static_cast<std::uint64_t>(n));
  };
  if (!is_power(launch.block_x) || !is_power(launch.block_y)) return "a block is no power of two";
  if (launch.block_x * launch.block_y < 32) return "a block is less than a warp";
  if (launch.grid_x * a_block < kept) return "the grid covers too few outputs";
  if (chunk <= 0 || launch.grid_y * chunk < reduced) return "the splits cover too little";
  if (launch.grid_y > 1 && launch.more[0] == 0) return "several splits write one output";
  if (variant.width > 1 &&
      (!variant.is_along || variant.reduced_rank != 1 || chunk % variant.width != 0)) {
    return "vectors need chunks of whole vectors along one axis";
  }
  return {};
}

CUresult run_reduce(const Launch& launch) {
  if (const std::string wrong = wrong_geometry(launch); !wrong.empty())
    return illegal(launch, wrong);
  const Variant variant(launch);
  const std::int64_t kept = launch.word(block_places::kept), splits = launch.grid_y;
  const std::uint64_t to = launch.more[0];
  const Operands operands = launch.operands(variant.has_wide_index, to == 0);
  if (!has_legal_vectors(launch, operands, 1, variant.width, variant.wide))
    return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  std::byte* partial = nullptr;
  if (to) {
    const auto bytes =
        static_cast<std::size_t>(splits * kept) * loops_of(launch).fold->accumulator_size;
    partial = state().memory.find(to, bytes, launch.device);
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
  const std::int64_t kept = launch.word(block_places::kept),
                     count = launch.word(block_places::reduced),
                     splits = static_cast<std::int64_t>(launch.more[1]);
  const std::size_t item = loops_of(launch).fold->accumulator_size,
                    out_item = launch.program->itemsize[0];
  if (!std::has_single_bit(static_cast<std::uint64_t>(launch.block_x))) {
    return illegal(launch, "a block is no power of two");
  }
  const auto size = [](std::int64_t n, std::size_t bytes) {
    return static_cast<std::size_t>(n) * bytes;
  };
  std::byte* const out =
      state().memory.find(launch.pointer(0), size(kept, out_item), launch.device);
  const std::byte* const partial =
      state().memory.find(launch.more[0], size(splits * kept, item), launch.device);
  if (!out || !partial) return illegal(launch, "an operand is not in live memory");
  for (std::int64_t output = 0; output < kept; ++output) {
    const Accumulator accumulator = new_accumulator(launch);
    for (std::int64_t split = 0; split < splits; ++split) {
      loops_of(launch).fold->merge(accumulator.get(), partial + size(split * kept + output, item),
                                   1);
    }
    loops_of(launch).finish(out + size(output, out_item), 0, accumulator.get(), 1, count,
                            launch.scalars());
  }
  return CUDA_SUCCESS;
}

}  // namespace

std::span<const Kernel> reduce_kernels() {
  static constexpr Kernel kernels[] = {
      {"reduce",
       "reduce",
       6,
       256,
       [](const std::vector<int>& arguments) { return arguments[0] + arguments[1]; },
       {sizeof(void*)},
       run_reduce},
      {"reduce",
       "reduce_finish",
       0,
       128,
       [](const std::vector<int>&) { return 0; },
       {sizeof(void*), sizeof(std::int64_t)},
       run_finish}};
  return kernels;
}

}  // namespace quarry::fake
