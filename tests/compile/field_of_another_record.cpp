// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

struct Point {
  float x, y;
};
struct Interval {
  float low, high;
};
auto f(const quarry::DeviceNDArray<Point>& a) {
#ifdef QUARRY_VALID
  return a.field<&Point::x>();
#else
  return a.field<&Interval::low>();  // error: this is a member of another class than the elements
#endif
}
