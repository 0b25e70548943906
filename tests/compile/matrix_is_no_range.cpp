// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <Eigen/Core>

auto f(const Eigen::MatrixXf& a) {
#ifdef QUARRY_VALID
  return quarry::to_device(std::span<const float>(a.data(), std::size_t(a.size())));
#else
  return quarry::to_device(a);  // error: the elements of this type need not lie in a row
#endif
}
