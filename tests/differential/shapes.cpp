// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/shape_cases.hpp"
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

/// The functions of the conformance tests; their first argument is a seed of draw.py.
void call(const Step& s, Outcome& out, bool lazy) {
  const conformance::ShapeFunction& function = conformance::shape_function(s.name);
  conformance::ShapeCall c;
  for (std::size_t i = 0; i < s.operands.size(); ++i) c.inputs.push_back(s.get<std::int32_t>(i));
  c.arguments.assign(s.arguments.begin() + 1, s.arguments.end());
  for (const auto& result : (lazy ? function.lazy : function.call)(c)) {
    const auto& a = result.array;
    const DeviceNDArray<std::int32_t> shared(a.layout(), a.device_pointer(), a.buffer());
    out.add(lazy ? shared.copy() : shared);
  }
}
void shape_step(const Step& s, Outcome& out) { call(s, out, false); }
void lazy_step(const Step& s, Outcome& out) { call(s, out, true); }

}  // namespace

void add_shapes(Operations& all) {
  all["shape"] = shape_step;
  all["lazy"] = lazy_step;
}

}  // namespace quarry::differential
