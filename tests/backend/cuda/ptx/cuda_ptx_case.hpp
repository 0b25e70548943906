// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/program.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/ptx/cuda_ptx_interpreter.hpp"
#include "backend/cuda/ptx/ptx_kernel.hpp"

/// Maps whose kernels are written as PTX, run by an interpreter, beside the same expressions
/// computed by the host's compiler.
namespace quarry::test {

using namespace kernels;
using backend::cuda::ptx_kernel;

inline constexpr std::pair<int, int> hopper{9, 0};
/// Elements of a vector, at most; wider ones are NVRTC's.
inline constexpr int widest_vector = 8;

inline std::string flat_name(std::string_view program, int width) {
  return fmt::format("quarry::kernels::map_flat<{}, {}>", program, width);
}

/// Elements with bytes around them that must stay; aligned as the memory of a GPU.
class Elements {
 public:
  Elements(std::size_t bytes, std::mt19937_64& random) : lines_((bytes + 127) / 128 + 2) {
    for (Line& line : lines_) {
      for (char& c : line.bytes) c = static_cast<char>(random());
    }
  }
  char* data() { return lines_[1].bytes; }
  bool is(const Elements& other) const {
    return std::memcmp(lines_.data(), other.lines_.data(), lines_.size() * sizeof(Line)) == 0;
  }

 private:
  struct alignas(128) Line {
    char bytes[128];
  };
  std::vector<Line> lines_;
};

/// What the expressions of a map read at one element.
struct HostContext {
  std::vector<const char*> at;  ///< of the inputs
  const std::vector<std::uint64_t>& scalars;
  i64 position;
  template <class T, int K>
  T input() const {
    return load<T>(at[K]);
  }
  template <class T, int S>
  T scalar() const {
    T value;
    std::memcpy(&value, &scalars[2 * S], sizeof value);
    return value;
  }
  i64 index() const { return position; }
};

/// NaNs have no order and no one representation.
template <class T>
bool same(T a, T b) {
  if constexpr (is_floating<T>) {
    if (a != a && b != b) return true;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// The axes of a map; strides are in bytes.
struct Axes {
  std::vector<std::int64_t> shape;
  std::vector<std::vector<std::int64_t>> strides;  ///< of every operand
  std::vector<std::int64_t> before = {};           ///< unused bytes before its first one

  std::int64_t size() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
  /// Of element i in C order, in bytes.
  std::int64_t offset(std::size_t operand, std::int64_t i) const {
    std::int64_t offset = 0;
    for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) {
      offset += i % shape[d] * strides[operand][d];
    }
    return offset;
  }
  /// Where the lowest byte of an operand is, and how many there are from that on.
  std::pair<std::int64_t, std::int64_t> span(std::size_t operand, std::int64_t itemsize) const {
    std::int64_t low = before.empty() ? 0 : -before[operand], high = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t far = strides[operand][d] * (shape[d] - 1);
      (far < 0 ? low : high) += far;
    }
    return {low, shape.empty() || size() > 0 ? high - low + itemsize : 0};
  }
};

/// An output's element, and what the host's compiler makes of it.
struct Outcome {
  double found, expected;
  bool is_same;
};

/// What a test knows of a map. Only what computes an element depends on its type.
struct TestedMap {
  std::string program;
  std::vector<u32> sizes;  ///< of the operands' elements, outputs first
  std::size_t outputs;
  int scalars;
  u32 largest;  ///< of the sizes
  std::vector<Outcome> (*outcomes)(const HostContext& c, const std::vector<const char*>& outputs);

  std::size_t inputs() const { return sizes.size() - outputs; }
  int widest_vector() const {
    return std::min(test::widest_vector, static_cast<int>(16 / largest));
  }
};

template <class E, class Out>
Outcome outcome(const HostContext& c, const char* output) {
  const Out expected = convert<Out>(E{}(c));
  Out found;
  std::memcpy(static_cast<void*>(&found), output, sizeof found);
  return {static_cast<double>(found), static_cast<double>(expected), same(found, expected)};
}
template <class E, class Out>
struct Outcomes {
  static std::vector<Outcome> of(const HostContext& c, const std::vector<const char*>& outputs) {
    return {outcome<E, Out>(c, outputs[0])};
  }
};
template <class... Es, class... Outs>
struct Outcomes<several<Es...>, several<Outs...>> {
  static std::vector<Outcome> of(const HostContext& c, const std::vector<const char*>& outputs) {
    std::size_t k = 0;
    return {outcome<Es, Outs>(c, outputs[k++])...};
  }
};

template <class E, class Out, int S, class... In>
TestedMap tested(map_of<E, Out, S, In...>*) {
  using Types = operands_of<Out, In...>;
  return {std::string(quarry::detail::type_name<map_of<E, Out, S, In...>>()),
          {std::begin(Types::size), std::end(Types::size)},
          Types::outputs,
          S,
          Types::largest(0),
          Outcomes<E, Out>::of};
}

inline void expect_outputs(const TestedMap& map, const Axes& axes, const std::vector<char*>& begin,
                           const std::vector<std::uint64_t>& scalars) {
  for (std::int64_t i = 0; i < axes.size(); ++i) {
    std::vector<const char*> outputs;
    HostContext context{{}, scalars, i};
    for (std::size_t k = 0; k < begin.size(); ++k) {
      auto& list = k < map.outputs ? outputs : context.at;
      list.push_back(begin[k] + axes.offset(k, i));
    }
    for (const Outcome& o : map.outcomes(context, outputs)) {
      EXPECT_TRUE(o.is_same) << map.program << " at " << i << ": " << o.found << " instead of "
                             << o.expected;
    }
  }
}

/// Between and around the elements of the outputs, and in the inputs, nothing has changed.
inline void expect_rest(const TestedMap& map, const Axes& axes, std::vector<Elements>& operands,
                        std::vector<Elements> before) {
  for (std::size_t k = 0; k < operands.size(); ++k) {
    for (std::int64_t i = 0; k < map.outputs && i < axes.size(); ++i) {
      const std::int64_t at = axes.offset(k, i) - axes.span(k, 0).first;
      std::memcpy(before[k].data() + at, operands[k].data() + at, map.sizes[k]);
    }
    EXPECT_TRUE(operands[k].is(before[k])) << "operand " << k;
  }
}

/// `name` is of the kernel of the program; `launch` is without its parameter block, which has axes
/// if `has_axes`.
inline void run(const TestedMap& map, const std::string& name, const Axes& axes, bool has_axes,
                PtxLaunch launch, std::mt19937_64& random) {
  const auto kernel = ptx_kernel(name, "tested", hopper);
  ASSERT_TRUE(kernel) << name;
  std::vector<Elements> operands;
  std::vector<char*> begin;
  for (std::size_t k = 0; k < map.sizes.size(); ++k) {
    const auto [low, bytes] = axes.span(k, map.sizes[k]);
    operands.emplace_back(static_cast<std::size_t>(bytes), random);
    begin.push_back(operands.back().data() - low);
  }
  const std::vector<Elements> before = operands;
  launch.block = {static_cast<std::uint64_t>(axes.size()), 1, 0};
  for (char* const address : begin) {
    launch.block.push_back(reinterpret_cast<std::uint64_t>(address));
  }
  std::vector<std::uint64_t> scalars;
  for (int k = 0; k < 2 * map.scalars; ++k) {
    scalars.push_back(random() & ~std::uint64_t{0xfe});  // some are bools
  }
  const auto append = [&](const auto& words) {
    for (const auto word : words) launch.block.push_back(static_cast<std::uint64_t>(word));
  };
  append(scalars);
  if (has_axes) {
    append(axes.shape);
    for (const auto& strides : axes.strides) append(strides);
  }
  run_ptx(kernel->text, launch);
  expect_outputs(map, axes, begin, scalars);
  expect_rest(map, axes, operands, before);
}

/// All widths of vectors, a few drawn lengths each.
inline void check(const TestedMap& map, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int width = 1; width <= map.widest_vector(); width *= 2) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto count = static_cast<std::int64_t>(random() % 60);
      Axes axes{{count}, {}};
      for (const u32 size : map.sizes) axes.strides.push_back({static_cast<std::int64_t>(size)});
      PtxLaunch launch{.more = static_cast<std::uint32_t>(random() % 2), .block_x = 8};
      launch.grid_x = static_cast<std::uint32_t>(count / (8 * width) + 2);
      run(map, flat_name(map.program, width), axes, false, launch, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// What map_strided may get: along the last axis outputs are dense, and inputs too (`wide`), or do
/// not move, if vectors have several elements.
inline Axes drawn_axes(const TestedMap& map, std::int64_t columns, int rank, int width,
                       unsigned wide, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  Axes axes;
  for (int d = 0; d < rank - 1; ++d) axes.shape.push_back(1 + below(5));
  axes.shape.push_back(columns);
  for (std::size_t k = 0; k < map.sizes.size(); ++k) {
    const std::int64_t size = map.sizes[k];
    const bool is_output = k < map.outputs;
    const bool is_dense = is_output || (wide >> (k - map.outputs) & 1) != 0;
    std::vector<std::int64_t> strides(axes.shape.size());
    std::int64_t step = is_dense || (width == 1 && below(3) > 0) ? size : 0;
    if (width == 1 && below(3) == 0) step *= 2;
    strides.back() = step;
    std::int64_t far = std::max(step, size) * columns;
    for (std::size_t d = axes.shape.size() - 1; d-- > 0;) {
      const bool moves = is_output || below(4) > 0;
      const std::int64_t unit = size * width;
      far = (far + unit - 1) / unit * unit + unit * below(2);
      strides[d] = !moves ? 0 : !is_output && below(3) == 0 ? -far : far;
      far *= axes.shape[d];
    }
    axes.strides.push_back(strides);
    axes.before.push_back(size * width * below(8));
  }
  return axes;
}

inline void check_strided(const TestedMap& map, std::uint64_t seed, int times,
                          std::int64_t most_columns = 20) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int repeat = 0; repeat < times; ++repeat) {
    const auto most = static_cast<unsigned>(map.widest_vector());
    const int width = 1 << below(static_cast<std::uint64_t>(std::bit_width(most)));
    const unsigned wide = width > 1 ? static_cast<unsigned>(below(1u << map.inputs())) : 0;
    const int rank = static_cast<int>(1 + below(4)), rows = 1 << below(4);
    const std::int64_t columns = width * (1 + below(static_cast<std::uint64_t>(most_columns)));
    const Axes axes = drawn_axes(map, columns, rank, width, wide, random);
    PtxLaunch launch{.more = static_cast<std::uint32_t>(below(4)),
                     .grid_y = static_cast<std::uint32_t>(1 + below(5)),
                     .block_x = 8,
                     .block_y = 1u << below(3)};
    launch.grid_x = static_cast<std::uint32_t>((columns + 128) / (8 * width) + 1);
    run(map,
        fmt::format("quarry::kernels::map_strided<{}, {}, 4, {}, {}, {}>", map.program, rank, rows,
                    width, wide),
        axes, true, launch, random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class M>
void check(std::uint64_t seed) {
  check(tested(static_cast<M*>(nullptr)), seed);
}
template <class M>
void check_strided(std::uint64_t seed, int times, std::int64_t most_columns = 20) {
  check_strided(tested(static_cast<M*>(nullptr)), seed, times, most_columns);
}

}  // namespace quarry::test
