// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/eigen.hpp>
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>

#ifdef QUARRY_VALID
using Host = Eigen::VectorXf;
#else
using Host = Eigen::MatrixXf;
#endif
auto f(const quarry::RankedNDArray<float, 1>& a) {
  return a.copy_to_host<Host>();  // one error: the number of axes of this container is another one
}
