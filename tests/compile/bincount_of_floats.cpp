// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
using Value = int;
#else
using Value = float;
#endif
auto f(const quarry::DeviceNDArray<Value>& a) {
  return quarry::bincount(a);  // one error: bincount counts integers and bools
}
