// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <span>

#ifdef QUARRY_VALID
using Value = float;
#else
using Value = const float;
#endif
void f(const quarry::DeviceNDArray<float>& a, std::span<Value> host) {
  a.copy_to_host(host);  // error: no matching function for call
}
