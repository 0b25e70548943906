// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

void mask_computed(const Step& s, Outcome& out) {
  with(Computed(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    const auto m = [&] { return s.get<bool>(1); };
    named(s, "above", [&] { out.add(a(a > s.scalar<T>())); }) ||
        named(s, "product", [&] { out.add((a * s.get<T>(2))(m())); }) ||
        named(s, "fill", [&] { a(m()) = s.scalar<T>(); }) ||
        named(s, "add", [&] { a(m()) += s.get<T>(2); });
  });
}
void mask_step(const Step& s, Outcome& out) {
  if (s.name == "above" || s.name == "product" || s.name == "fill" || s.name == "add") {
    return mask_computed(s, out);
  }
  with(Masked(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    const auto& m = s.get<bool>(1);
    named(s, "read", [&] { out.add(a(m)); }) || named(s, "write", [&] { a(m) = s.get<T>(2); }) ||
        named(s, "copyto", [&] { copyto(a, s.get<T>(2), m); }) ||
        named(s, "place", [&] { place(a, m, s.get<T>(2)); }) ||
        named(s, "putmask", [&] { putmask(a, m, s.get<T>(2)); }) || (throw_unnamed(s), true);
  });
}

void where_step(const Step& s, Outcome& out) {
  using Conditions = Types<bool, std::int32_t, double>;
  with(Conditions(), s.operands.back(), [&](const auto& a) {
    named(s, "flatnonzero", [&] { out.add(flatnonzero(a)); }) ||
        named(s, "argwhere", [&] { out.add(argwhere(a)); }) ||
        named(s, "compress", [&] { out.add(compress(s.get<bool>(0), a, s.number(0))); }) ||
        named(s, "extract", [&] { out.add(extract(s.get<bool>(0), a)); }) ||
        named(s, "nonzero",
              [&] {
                for (const auto& axis : nonzero(a)) out.add(axis);
              }) ||
        (throw_unnamed(s), true);
  });
}

}  // namespace

void add_masks(Operations& all) {
  all["mask"] = mask_step;
  all["where"] = where_step;
}

}  // namespace quarry::differential
