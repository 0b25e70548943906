// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>

auto f(const quarry::RankedNDArray<float, 2>& a) {
#ifdef QUARRY_VALID
  return a.transpose(1, 0);
#else
  return a.transpose(0);  // one error: transpose takes every axis once
#endif
}
