// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#ifdef QUARRY_VALID
#include <quarry/xtensor.hpp>
#elif __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xarray.hpp>
#endif

auto f(const xt::xarray<float>& h) {
  return quarry::to_device(
      h + 1.f);  // one error: xtensor's expressions need #include <quarry/xtensor.hpp>
}
