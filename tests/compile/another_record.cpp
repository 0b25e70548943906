// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <vector>

struct Point {
  float x, y;
};
struct Interval {
  float low, high;
};

void f(const quarry::DeviceNDArray<Point>& a, std::vector<Point>& p, std::vector<Interval>& i) {
#ifdef QUARRY_VALID
  (void)i;
  a.copy_to_host(p);
#else
  (void)p;
  a.copy_to_host(i);  // error: this copy can lose the kind of the values
#endif
}
