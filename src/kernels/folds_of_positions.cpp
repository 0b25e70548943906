// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/folds.hpp"

namespace quarry::kernels {

#define QUARRY_DTYPE(id, host_type, T, kind, name, npy_code) \
  template struct folds<argmin_of, located<T>>;              \
  template struct folds<argmax_of, located<T>>;
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE

}  // namespace quarry::kernels
