// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/shape_cases.hpp"

#include <gtest/gtest.h>

namespace quarry::conformance {
namespace {

using C = ShapeCall;
using Result = ShapeResults;

/// Arguments `i` and `i + 1`: whether there is an axis, and which.
std::optional<std::int64_t> axis_of(const C& c, std::size_t i) {
  if (c.arguments[i][0] == 0) return std::nullopt;
  return c.arguments[i][1];
}
/// The pairs of a pad.
PadPairs<std::int64_t> widths_of(const C& c) {
  const auto& w = c.arguments[0];
  switch (w.size()) {
    case 2:
      return {{w[0], w[1]}};
    case 4:
      return {{w[0], w[1]}, {w[2], w[3]}};
    default:
      return {{w.at(0), w.at(1)}, {w.at(2), w.at(3)}, {w.at(4), w.at(5)}};
  }
}
/// The inputs as expressions.
auto lazy(const C& c) {
  std::vector<decltype(c.a() + 0)> result;
  for (const auto& input : c.inputs) result.push_back(input + 0);
  return result;
}

using Function = ShapeFunction;
#define QUARRY_BOTH(name, ...)                                   \
  {                                                              \
#name, [](const C& c) -> Result {                              \
      const auto& parts = c.inputs;                                \
      [[maybe_unused]] const auto& a = parts[0];                   \
      return __VA_ARGS__;                                          \
    },                                                             \
        [](const C& c) -> Result {                                 \
          const auto parts = lazy(c);                              \
          [[maybe_unused]] const auto& a = parts[0];               \
          return __VA_ARGS__;                                      \
        } \
  }

const Function functions[] = {
    QUARRY_BOTH(concatenate, {concatenate(parts, c.number(0))}),
    QUARRY_BOTH(concatenate_flat, {concatenate(parts, std::nullopt)}),
    QUARRY_BOTH(stack, {stack(parts, c.number(0))}),
    QUARRY_BOTH(hstack, {hstack(parts)}),
    QUARRY_BOTH(vstack, {vstack(parts)}),
    QUARRY_BOTH(dstack, {dstack(parts)}),
    QUARRY_BOTH(column_stack, {column_stack(parts)}),
    QUARRY_BOTH(block, {block(std::tuple(std::tie(parts[0], parts[1]),
                                         std::tuple(parts[2], c.inputs[3])))}),
    QUARRY_BOTH(block_row, {block(parts)}),
    QUARRY_BOTH(append, {append(a, parts[1], c.number(0))}),
    QUARRY_BOTH(append_flat, {append(a, c.inputs[1])}),
    QUARRY_BOTH(tile, {tile(a, c.axes(0))}),
    QUARRY_BOTH(repeat, {repeat(a, c.number(0), c.number(1))}),
    QUARRY_BOTH(repeat_flat, {repeat(a, c.number(0))}),
    QUARRY_BOTH(repeat_each, {repeat(a, c.arguments[1], c.number(0))}),
    QUARRY_BOTH(roll, {roll(a, c.axes(1), c.axes(0))}),
    QUARRY_BOTH(roll_flat, {roll(a, c.number(0))}),
    QUARRY_BOTH(resize, {resize(a, c.axes(0))}),
    QUARRY_BOTH(delete, {delete_(a, c.number(1), axis_of(c, 0))}),
    QUARRY_BOTH(delete_list, {delete_(a, c.arguments[1], axis_of(c, 0))}),
    QUARRY_BOTH(delete_range,
                {delete_(a, range(c.number(1), c.number(2), c.number(4)), axis_of(c, 0))}),
    QUARRY_BOTH(insert, {insert(a, c.number(1), parts[1], axis_of(c, 0))}),
    QUARRY_BOTH(insert_list, {insert(a, c.arguments[1], parts[1], c.number(0))}),
    QUARRY_BOTH(trim_zeros, {trim_zeros(eval(where(a % 7 == 0 && a < c.number(0), a, 0)),
                                        static_cast<Trim>(c.number(1)), c.axes(2))}),
    QUARRY_BOTH(pad, {pad(a, widths_of(c),
                          {.constant_values = {int(c.number(1)), int(c.arguments[1][1])}})}),
    QUARRY_BOTH(pad_edge, {pad<PadMode::edge>(a, widths_of(c))}),
    QUARRY_BOTH(pad_linear_ramp,
                {pad<PadMode::linear_ramp>(a, widths_of(c), {.end_values = c.number(1)})}),
    QUARRY_BOTH(pad_maximum, {pad<PadMode::maximum>(a, widths_of(c))}),
#define QUARRY_PAD_STATISTIC(mode)                                                    \
  QUARRY_BOTH(pad_##mode, {pad<PadMode::mode>(a, widths_of(c),                        \
                                              {.stat_length = PadPairs<std::int64_t>{ \
                                                   c.number(1), c.arguments[1][1]}})})
    QUARRY_PAD_STATISTIC(minimum),
    QUARRY_PAD_STATISTIC(mean),
    QUARRY_PAD_STATISTIC(median),
#undef QUARRY_PAD_STATISTIC
    QUARRY_BOTH(pad_reflect, {pad<PadMode::reflect>(a, widths_of(c))}),
    QUARRY_BOTH(pad_reflect_odd,
                {pad<PadMode::reflect>(a, widths_of(c), {.reflect_type = Reflect::odd})}),
    QUARRY_BOTH(pad_symmetric, {pad<PadMode::symmetric>(a, widths_of(c))}),
    QUARRY_BOTH(pad_symmetric_odd,
                {pad<PadMode::symmetric>(a, widths_of(c), {.reflect_type = Reflect::odd})}),
    QUARRY_BOTH(pad_wrap, {pad<PadMode::wrap>(a, widths_of(c))}),
};

class Joins : public testing::TestWithParam<Function> {};

TEST_P(Joins, AreNumPys) { replay_shapes(GetParam().name, GetParam().call, Views::any); }

TEST_P(Joins, OfExpressionsAreNumPys) {
  replay_shapes(GetParam().name, GetParam().lazy, Views::any);
}

std::string name_of(const testing::TestParamInfo<Function>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Joins, testing::ValuesIn(functions), name_of);

}  // namespace

std::span<const ShapeFunction> join_functions() { return functions; }

}  // namespace quarry::conformance
