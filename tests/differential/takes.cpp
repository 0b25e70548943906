// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

template <class T, class P>
void take_from(const Step& s, Outcome& out, const DeviceNDArray<T>& a, const DeviceNDArray<P>& i) {
  const auto values = [&]() -> const DeviceNDArray<T>& { return s.get<T>(2); };
  named(s, "raise", [&] { out.add(take(a, i, s.number(0))); }) ||
      named(s, "wrap", [&] { out.add(take<IndexMode::wrap>(a, i, s.number(0))); }) ||
      named(s, "clip", [&] { out.add(take<IndexMode::clip>(a, i, s.number(0))); }) ||
      named(s, "flat", [&] { out.add(take(a, i)); }) ||
      named(s, "along", [&] { out.add(take_along_axis(a, i, s.number(0))); }) ||
      named(s, "put", [&] { put(a, i, values()); }) ||
      named(s, "put_along", [&] { put_along_axis(a, i, values(), s.number(0)); }) ||
      (throw_unnamed(s), true);
}
void take_step(const Step& s, Outcome& out) {
  with(Added(), s.operands[0], [&](const auto& a) {
    with(Types<std::int32_t, std::int64_t>(), s.operands[1],
         [&](const auto& positions) { take_from(s, out, a, positions); });
  });
}

void choose_step(const Step& s, Outcome& out) {
  const auto& i = s.get<std::int32_t>(0);
  const auto &x = s.get<double>(1), &y = s.get<double>(2);
  named(s, "raise", [&] { out.add(choose(i, x, y)); }) ||
      named(s, "wrap", [&] { out.add(choose<IndexMode::wrap>(i, x, y)); }) ||
      named(s, "clip", [&] { out.add(choose<IndexMode::clip>(i, x, y)); }) ||
      (throw_unnamed(s), true);
}

}  // namespace

void add_takes(Operations& all) {
  all["take"] = take_step;
  all["choose"] = choose_step;
}

}  // namespace quarry::differential
