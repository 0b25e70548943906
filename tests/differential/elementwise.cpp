// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

template <class F>
bool for_target(const std::string& name, const F& f) {
  if (name == "int32") return f.template operator()<std::int32_t>(), true;
  if (name == "float32") return f.template operator()<float>(), true;
  if (name == "float64") return f.template operator()<double>(), true;
  if (name == "bool") return f.template operator()<bool>(), true;
  if (name == "int8") return f.template operator()<std::int8_t>(), true;
  return false;
}
using Converted = Types<bool, std::int8_t, std::int32_t, std::int64_t, std::uint8_t, float, double>;
void astype_step(const Step& s, Outcome& out) {
  with(Converted(), s.operands[0], [&](const auto& a) {
    const auto convert = [&]<class U>() { out.add(a.template astype<U>()); };
    if (!for_target(s.name, convert)) throw_unnamed(s);
  });
}

#define QUARRY_CASE(function) named(s, #function, [&] { out.add(function(a)); })
void unary_step(const Step& s, Outcome& out) {
  const bool floating = s.name == "sqrt" || s.name == "exp" || s.name == "sin";
  if (floating) {
    return with(Floating(), s.operands[0],
                [&](const auto& a) { QUARRY_CASE(sqrt) || QUARRY_CASE(exp) || QUARRY_CASE(sin); });
  }
  with(Computed(), s.operands[0], [&](const auto& a) {
    QUARRY_CASE(negative) || QUARRY_CASE(abs) || QUARRY_CASE(square) || QUARRY_CASE(sign) ||
        QUARRY_CASE(floor) || QUARRY_CASE(isnan) || QUARRY_CASE(logical_not) ||
        (throw_unnamed(s), true);
  });
}
#undef QUARRY_CASE

#define QUARRY_CASE(function) named(s, #function, [&] { out.add(function(a, b)); })
template <class A, class B>
bool pair(const Step& s, Outcome& out) {
  const auto* first = std::get_if<DeviceNDArray<A>>(&s.operands[0]);
  const auto* second = std::get_if<DeviceNDArray<B>>(&s.operands[1]);
  if (!first || !second) return false;
  const auto &a = *first, &b = *second;
  return QUARRY_CASE(add) || QUARRY_CASE(multiply) || QUARRY_CASE(less);
}
void binary_step(const Step& s, Outcome& out) {
  using C = std::complex<float>;
  if (s.name == "add" || s.name == "multiply" || s.name == "less") {
    const bool done =
        pair<bool, bool>(s, out) || pair<std::int8_t, std::int8_t>(s, out) ||
        pair<std::int32_t, std::int32_t>(s, out) || pair<std::int64_t, std::int64_t>(s, out) ||
        pair<std::uint8_t, std::uint8_t>(s, out) || pair<float, float>(s, out) ||
        pair<double, double>(s, out) || pair<C, C>(s, out) ||
        pair<std::int8_t, std::uint8_t>(s, out) || pair<std::int32_t, float>(s, out) ||
        pair<bool, std::int32_t>(s, out) || pair<std::int64_t, float>(s, out) ||
        pair<float, double>(s, out) || pair<float, C>(s, out);
    if (!done) throw_unnamed(s);
    return;
  }
  with(Computed(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    const auto& b = s.get<T>(1);
    QUARRY_CASE(subtract) || QUARRY_CASE(divide) || QUARRY_CASE(maximum) || QUARRY_CASE(minimum) ||
        QUARRY_CASE(floor_divide) || QUARRY_CASE(remainder) || QUARRY_CASE(equal) ||
        (throw_unnamed(s), true);
  });
}
#undef QUARRY_CASE

void tree_step(const Step& s, Outcome& out) {
  with(Computed(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    const auto &b = s.get<T>(1), &c = s.get<T>(2);
    named(s, "axpy", [&] { out.add(a * b + c); }) ||
        named(s, "larger", [&] { out.add(quarry::where(a < b, b, c)); }) ||
        named(s, "distance", [&] { out.add(abs(a - b) + c); }) ||
        named(s, "ratio", [&] { out.add((a + b) / (c * c + 1)); }) ||
        named(s, "clip", [&] { out.add(clip(a, b, c)); }) || (throw_unnamed(s), true);
  });
}

}  // namespace

void add_elementwise(Operations& all) {
  all["astype"] = astype_step;
  all["unary"] = unary_step;
  all["binary"] = binary_step;
  all["tree"] = tree_step;
}

}  // namespace quarry::differential
