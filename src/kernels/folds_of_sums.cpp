// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/narrow_sums.hpp"

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

#define QUARRY_NARROW(T, Sum)            \
  template struct folds<sum_of, Sum, T>; \
  template struct folds<mean_of, double, T>;
QUARRY_NARROW(bool, i64)
QUARRY_NARROW(i8, i64)
QUARRY_NARROW(i16, i64)
QUARRY_NARROW(i32, i64)
QUARRY_NARROW(u8, u64)
QUARRY_NARROW(u16, u64)
QUARRY_NARROW(u32, u64)
#undef QUARRY_NARROW

template struct folds<any_of, bool>;
template struct folds<all_of, bool>;

}  // namespace quarry::kernels
