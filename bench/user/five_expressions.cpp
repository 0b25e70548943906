// SPDX-License-Identifier: BSD-3-Clause
// What a user's file looks like to the compiler; compile_time.py measures how long it takes.
#include <quarry/quarry.hpp>

namespace qy = quarry;

float five_expressions(const qy::DeviceNDArray<float>& a, const qy::DeviceNDArray<float>& b) {
  qy::DeviceNDArray<float> c = a * b + qy::sin(a) * 2.f - b;
  const qy::DeviceNDArray<float> d = qy::where(a > b, qy::sqrt(a), c);
  c(qy::range(1, qy::_)) = d(qy::range(qy::_, -1)) / 2.f;
  c += qy::atan2(a, d);
  return qy::sum((a - c) * (a - c)).item();
}
