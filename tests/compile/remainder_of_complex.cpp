// SPDX-License-Identifier: BSD-3-Clause
#include <complex>
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
using Value = double;
#else
using Value = std::complex<double>;
#endif
auto f(const quarry::DeviceNDArray<Value>& a) {
  return a % a;  // one error: the operation does not exist for these element types
}
