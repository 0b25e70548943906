// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
using Value = int;
#else
using Value = float;
#endif
void f(const quarry::DeviceNDArray<Value>& a, const quarry::DeviceNDArray<int>& i) {
  multiply_at(a(i), 2);  // one error: products of floating numbers depend on the order
}
