// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <vector>

#ifdef QUARRY_VALID
using Value = short;  // converted on its way
#else
using Value = double;
#endif
void f(const quarry::DeviceNDArray<int>& a, const std::vector<Value>& host) {
  a.copy_to_device(host);  // one error: this copy can lose the kind of the values
}
