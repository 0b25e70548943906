// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/kernel.hpp"

#include <bit>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>

#include <quarry/kernels/access.hpp>
#include <quarry/kernels/text_function.hpp>

#include "base/float_environment.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

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

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

const Kernel* find_kernel(std::string_view name) {
  for (const auto& kernels : {
#define QUARRY_FAMILY(name) name##_kernels(),
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
       }) {
    for (const Kernel& kernel : kernels) {
      if (kernel.name == name) return &kernel;
    }
  }
  return nullptr;
}

/// Whether operand k may be accessed by vectors of `width` elements along the axis, or of every
/// second one.
bool is_aligned(const Launch& launch, const Operands& operands, int k, int width, int along,
                bool has_gaps) {
  const std::uint32_t size = launch.program->itemsize[k] * (has_gaps ? 2 : 1);
  const auto unit = static_cast<std::uint64_t>(width) * size;
  std::uint64_t places = launch.pointer(k);
  for (int axis = 0; axis < launch.rank(); ++axis) {
    if (axis != along) places |= static_cast<std::uint64_t>(operands.stride(k, axis));
  }
  const bool is_whole =
      !std::has_single_bit(unit) && width == operands.extent(along) && width <= 16;
  return operands.stride(k, along) == size && std::has_single_bit(size) &&
         (unit <= 16 || is_whole) && places % kernels::vector_alignment(unit) == 0;
}

}  // namespace

std::optional<KernelName> parse_kernel(std::string_view expression) {
  constexpr std::string_view space = "quarry::kernels::";
  if (!expression.starts_with(space) || !expression.ends_with('>')) return std::nullopt;
  expression.remove_prefix(space.size());
  const auto open = expression.find('<');
  if (open == expression.npos) return std::nullopt;
  const auto texts = template_arguments(expression.substr(open + 1, expression.size() - open - 2));
  KernelName name{find_kernel(expression.substr(0, open)), texts[0], {}};
  if (!name.kernel || texts.size() != name.kernel->arguments + 1) return std::nullopt;
  for (std::size_t k = 1; k < texts.size(); ++k) {
    const std::optional<int> argument = number(texts[k]);
    if (!argument) return std::nullopt;
    name.arguments.push_back(*argument);
  }
  return name;
}

Operands Launch::operands(bool has_wide_index, bool has_output, int output_rank) const {
  const kernels::block_places at = places();
  return Operands({.device = device,
                   .count = program->operands(),
                   .rank = at.rank,
                   .pointers = words.data() + kernels::block_places::pointers,
                   .shape = words.data() + at.shape(),
                   .strides = words.data() + at.strides(),
                   .itemsize = program->itemsize,
                   .has_wide_index = has_wide_index,
                   .has_output = has_output,
                   .output_rank = output_rank < 0 ? at.rank : output_rank});
}

CUresult illegal(const Launch& launch, const std::string& what) {
  add_fault(launch.expression + ": " + what);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult misaligned(const Launch& launch) {
  add_fault(launch.expression + ": an operand is not aligned for vectors");
  return CUDA_ERROR_MISALIGNED_ADDRESS;
}

bool is_natural(const Launch& launch, const Operands& operands, int k) {
  std::uint64_t places = launch.pointer(k);
  for (int axis = 0; axis < launch.rank(); ++axis) {
    if (operands.extent(axis) > 1) places |= static_cast<std::uint64_t>(operands.stride(k, axis));
  }
  return places % launch.program->alignment[k] == 0;
}

bool has_legal_vectors(const Launch& launch, const Operands& operands, int first, int width,
                       int wide, int axis) {
  const int outputs = launch.program->outputs;
  for (int k = first; k < operands.count(); ++k) {
    if (!is_natural(launch, operands, k)) return false;
  }
  if (width == 1) return wide == 0;
  for (int k = first; k < operands.count(); ++k) {
    const bool is_output = k < outputs;
    const auto access =
        kernels::input_access::of(static_cast<unsigned>(wide), is_output ? 0 : k - outputs);
    const bool is_wide = is_output || access.is_wide;
    const bool has_gaps = !is_output && access.has_gaps;
    if (is_wide ? !is_aligned(launch, operands, k, width, axis, has_gaps)
                : operands.stride(k, axis) != 0) {
      return false;
    }
  }
  return true;
}

namespace {

/// The numbers in all `in<T, k>` or `val<T, k>`, in the order in which they are written.
std::vector<int> numbers_in(std::string_view name, std::string_view open) {
  std::vector<int> numbers;
  for (auto at = name.find(open); at != name.npos; at = name.find(open, at + 1)) {
    const bool is_whole = at == 0 || name[at - 1] == ' ' || name[at - 1] == '<' ||
                          name[at - 1] == ':' || name[at - 1] == ',';
    if (!is_whole) continue;
    const auto begin = at + open.size();
    std::size_t end = begin;
    for (int depth = 1; end < name.size(); ++end) {
      depth += (name[end] == '<') - (name[end] == '>');
      if (depth == 0) break;
    }
    const auto texts = template_arguments(name.substr(begin, end - begin));
    numbers.push_back(number(texts.back()).value_or(-1));
  }
  return numbers;
}

}  // namespace

bool shares_what_is_the_same(const Launch& launch) {
  const kernels::block_places at = launch.places();
  const int outputs = launch.program->outputs;
  const auto same = [&](int a, int b, int first, int count) {
    const auto begin = launch.words.begin() + first;
    return std::equal(begin + a * count, begin + (a + 1) * count, begin + b * count);
  };
  const auto agree = [&](std::string_view open, auto same_one) {
    const auto own = numbers_in(launch.program->name, open);
    const auto shared = numbers_in(launch.name.program, open);
    if (own.size() != shared.size()) return false;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] != shared[i] && !same_one(own[i], shared[i])) return false;
    }
    return true;
  };
  return agree("in<",
               [&](int a, int b) {
                 return same(outputs + a, outputs + b, kernels::block_places::pointers, 1) &&
                        same(outputs + a, outputs + b, at.strides(), at.rank);
               }) &&
         agree("val<", [&](int a, int b) { return same(a, b, at.scalars(), 2); });
}

namespace {

/// The text of the launch's reducer, if that is one: the CPU's loops have no scalars there.
const kernels::source_text* reducer_text(const Launch& launch) {
  std::pair<const Launch&, const kernels::source_text*> found{launch, nullptr};
  launch.program->users(&found, [](void* state, const kernels::user_function& user) {
    if (user.text < 0 || user.type_name.find("text_reducer<") == user.type_name.npos) return;
    auto& [in, text] = *static_cast<decltype(found)*>(state);
    text = std::bit_cast<const kernels::source_text*>(in.scalars()[2 * user.text]);
  });
  return found.second;
}

/// The number of the scalar that is an address for the CPU's loops, too: left_at (reducer.hpp).
std::optional<std::size_t> scalar_of_left_result(const Launch& launch) {
  const std::string_view name = launch.program->name;
  const std::size_t begin = name.find("left_at<");
  if (begin == name.npos) return std::nullopt;
  const std::size_t number = name.find(',', begin) + 1;
  return std::stoul(std::string(name.substr(number, name.find('>', number) - number)));
}

}  // namespace

CUresult run_launch(const Launch& launch) {
  kernels::host_reduction = reducer_text(launch);
  const FloatEnvironment environment;  // a GPU has one of its own
  const std::optional<std::size_t> left = scalar_of_left_result(launch);
  if (!left) return launch.name.kernel->run(launch);
  Launch here = launch;
  std::uint64_t& address =
      here.words[static_cast<std::size_t>(here.places().scalars()) + 2 * *left];
  if (address != 0) {
    std::byte* const memory = state().memory.find(address, sizeof(std::int64_t), launch.device);
    if (!memory) return illegal(launch, "what is left of the result is not in live memory");
    address = reinterpret_cast<std::uint64_t>(memory);
  }
  return launch.name.kernel->run(here);
}

}  // namespace quarry::fake
