// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>
#include <vector>

auto f(const quarry::RankedNDArray<float, 2>& a) {
#ifdef QUARRY_VALID
  return a.copy_to_host<std::vector<std::vector<float>>>();
#else
  return a.copy_to_host<std::vector<float>>();  // one error: the number of axes of this container
                                                // is another one
#endif
}
