// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>

#ifdef QUARRY_VALID
using From = quarry::RankedNDArray<float, 2>;
#else
using From = quarry::RankedNDArray<float, 3>;
#endif
void f(quarry::RankedNDArray<float, 2>& a, const From& from) {
  a = from;  // one error: the number of axes of this array is another one
}
