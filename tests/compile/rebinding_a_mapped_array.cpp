// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/mapped.hpp>
#include <quarry/quarry.hpp>

void f(quarry::MappedNDArray<float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  a(quarry::all) = b;
#else
  a = b;  // one error: a name of a mapped or managed array is rebound to another such array only
#endif
}
