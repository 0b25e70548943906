// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#ifdef __x86_64__
#include <immintrin.h>

/// What loops that are written in vectors of 32 bytes share. The functions that call this have the
/// same target.
#define QUARRY_INLINED_256 __attribute__((always_inline, target("avx2"))) inline

namespace quarry::kernels {

QUARRY_INLINED_256 __m256i load_vector(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
QUARRY_INLINED_256 void store_vector(void* to, __m256i x) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), x);
}

}  // namespace quarry::kernels
#endif
