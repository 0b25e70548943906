// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/folds.hpp"

namespace quarry::kernels {

#define QUARRY_FOLDS(T)              \
  template struct folds<sum_of, T>;  \
  template struct folds<prod_of, T>; \
  template struct folds<mean_of, T>;
QUARRY_FOLDS(i32)
QUARRY_FOLDS(i64)
QUARRY_FOLDS(u64)
QUARRY_FOLDS(float)
QUARRY_FOLDS(double)
QUARRY_FOLDS(complex<float>)
QUARRY_FOLDS(complex<double>)
#undef QUARRY_FOLDS

template struct folds<any_of, bool>;
template struct folds<all_of, bool>;

}  // namespace quarry::kernels
