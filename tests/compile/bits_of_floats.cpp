// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
using Value = int;
#else
using Value = float;
#endif
auto f(const quarry::DeviceNDArray<Value>& a) {
  return a & a;  // one error: the operation does not exist for these element types
}
