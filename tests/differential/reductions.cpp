// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

/// Which axes: [0] stands for all.
ReduceAxes axes_of(const Step& s) {
  const Ints& list = s.arguments[0];
  if (list[0] == 0) return {};
  return Axes(list.begin() + 1, list.end());
}

#define QUARRY_CASE(name, function) \
  named(s, #name, [&] { out.add(function(a, axes, {.keepdims = keepdims})); })
void reduce_step(const Step& s, Outcome& out) {
  const ReduceAxes axes = axes_of(s);
  const bool keepdims = s.number(1) != 0;
  if (s.name == "mean" || s.name == "var" || s.name == "std" || s.name == "total") {
    return with(Types<std::int32_t, float, double>(), s.operands[0],
                [&]<class T>(const DeviceNDArray<T>& a) {
                  QUARRY_CASE(mean, mean) || QUARRY_CASE(var, var) ||
                      QUARRY_CASE(std, quarry::std) || named(s, "total", [&] {
                        out.add(sum(a * s.get<T>(1), axes, {.keepdims = keepdims}));
                      });
                });
  }
  using Reduced = Types<bool, std::int8_t, std::int32_t, std::uint8_t, float, double>;
  with(Reduced(), s.operands[0], [&](const auto& a) {
    QUARRY_CASE(sum, sum) || QUARRY_CASE(prod, prod) || QUARRY_CASE(min, min) ||
        QUARRY_CASE(max, max) || QUARRY_CASE(any, any) || QUARRY_CASE(all, all_of) ||
        QUARRY_CASE(argmin, argmin) || QUARRY_CASE(argmax, argmax) ||
        QUARRY_CASE(count_nonzero, count_nonzero) || (throw_unnamed(s), true);
  });
}
#undef QUARRY_CASE

}  // namespace

void add_reductions(Operations& all) { all["reduce"] = reduce_step; }

}  // namespace quarry::differential
