// SPDX-License-Identifier: BSD-3-Clause
#include <complex>
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<std::complex<float>>& z) {
#ifdef QUARRY_VALID
  const quarry::DeviceNDArray<float> x = quarry::real(z * 2.f);
#else
  const quarry::DeviceNDArray<float> x = z * 2.f;  // one error: use astype
#endif
}
