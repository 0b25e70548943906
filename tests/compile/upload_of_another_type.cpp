// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <vector>

#ifdef QUARRY_VALID
using Value = float;
#else
using Value = double;
#endif
void f(const quarry::DeviceNDArray<float>& a, const std::vector<Value>& host) {
  a.copy_to_device(host);  // error: the host array has another element type
}
