// SPDX-License-Identifier: BSD-3-Clause
#include <complex>
#include <quarry/quarry.hpp>
#include <vector>

#ifdef QUARRY_VALID
using Value = std::complex<double>;  // converted on its way
#else
using Value = int;
#endif
void f(const quarry::DeviceNDArray<float>& a, std::vector<Value>& host) {
  a.copy_to_host(host);  // one error: this copy can lose the kind of the values
}
