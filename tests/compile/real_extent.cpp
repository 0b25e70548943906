// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f() {
#ifdef QUARRY_VALID
  return quarry::zeros<float>({3, 4});
#else
  return quarry::zeros<float>({3, 1.5});  // error: conver
#endif
}
