// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/mapped.hpp>
#include <quarry/quarry.hpp>

void f(const quarry::MappedNDArray<const float>& a, quarry::MappedNDArray<float>& b) {
#ifdef QUARRY_VALID
  b *= a;
#else
  a *= b;  // one error: the elements of this array are read-only
#endif
}
