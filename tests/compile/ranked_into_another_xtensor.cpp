// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>
#include <quarry/xtensor.hpp>
#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif

#ifdef QUARRY_VALID
using Host = xt::xtensor<float, 3>;
#else
using Host = xt::xtensor<float, 2>;
#endif
auto f(const quarry::RankedNDArray<float, 3>& a) {
  return a.copy_to_host<Host>();  // one error: the number of axes of this container is another one
}
