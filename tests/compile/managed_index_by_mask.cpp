// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/managed.hpp>
#include <quarry/quarry.hpp>

auto f(const quarry::ManagedNDArray<float>& a) {
#ifdef QUARRY_VALID
  return quarry::where(a > 5.f, a, 0.f);
#else
  return a[a > 5.f];  // one error: there is no indexing by masks yet
#endif
}
