// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

void assign_step(const Step& s, Outcome&) {
  if (s.name == "array") {
    return std::visit([&]<class T>(const DeviceNDArray<T>& a) { a(ellipsis) = s.get<T>(1); },
                      s.operands[0]);
  }
  with(Computed(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& array) {
    DeviceNDArray<T> a = array;
    const auto b = [&]() -> const DeviceNDArray<T>& { return s.get<T>(1); };
    const auto c = [&]() -> const DeviceNDArray<T>& { return s.get<T>(2); };
    named(s, "fill", [&] { a(ellipsis) = s.scalar<T>(); }) ||
        named(s, "axpy", [&] { a(ellipsis) = b() * 2 + c(); }) ||
        named(s, "larger", [&] { a(ellipsis) = quarry::where(b() < c(), b(), a); }) ||
        named(s, "add", [&] { a += b(); }) || named(s, "subtract", [&] { a -= b(); }) ||
        named(s, "multiply", [&] { a *= b(); }) || (throw_unnamed(s), true);
  });
}

}  // namespace

void add_assignments(Operations& all) { all["assign"] = assign_step; }

}  // namespace quarry::differential
