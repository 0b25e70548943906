// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/folds.hpp"

namespace quarry::kernels {

#define QUARRY_FOLDS(T)                         \
  template struct folds<argmin_of, located<T>>; \
  template struct folds<argmax_of, located<T>>;
QUARRY_FOLDS(bool)
QUARRY_FOLDS(i8)
QUARRY_FOLDS(i16)
QUARRY_FOLDS(i32)
QUARRY_FOLDS(i64)
QUARRY_FOLDS(u8)
QUARRY_FOLDS(u16)
QUARRY_FOLDS(u32)
QUARRY_FOLDS(u64)
QUARRY_FOLDS(float16)
QUARRY_FOLDS(bfloat16)
QUARRY_FOLDS(float)
QUARRY_FOLDS(double)
QUARRY_FOLDS(complex<float>)
QUARRY_FOLDS(complex<double>)
#undef QUARRY_FOLDS

}  // namespace quarry::kernels
