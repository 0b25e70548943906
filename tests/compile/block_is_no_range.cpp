// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <vector>

#include <Eigen/Core>

void f(const quarry::DeviceNDArray<float>& a, Eigen::MatrixXf& m, std::vector<float>& v) {
#ifdef QUARRY_VALID
  (void)m;
  a.copy_to_host(v);
#else
  (void)v;
  a.copy_to_host(m.block(0, 0, 2, 2));  // error: the elements of this type need not lie in a row
#endif
}
