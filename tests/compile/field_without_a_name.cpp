// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

struct Point {
  float x, y;
};
QUARRY_RECORD(Point, x, y);
auto f(const quarry::DeviceNDArray<Point>& a) {
#ifdef QUARRY_VALID
  return a.field<"x">();
#else
  return a.field<"z">();  // error: the record has no field of this name
#endif
}
