// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#ifdef QUARRY_VALID
#include <quarry/pooled.hpp>
#endif

auto f(quarry::PageLockedMemoryPool& pool) {
#ifdef QUARRY_VALID
  return pool.allocate<float>({3, 4});
#else
  return pool.allocate<float>({3, 4});  // one error: needs #include <quarry/pooled.hpp>
#endif
}
