// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <complex>

#ifdef QUARRY_VALID
using Value = float;
#else
using Value = std::complex<float>;
#endif
auto f(const quarry::DeviceNDArray<Value>& a) {
  return quarry::softmax(a);  // one error: complex numbers have no order
}
