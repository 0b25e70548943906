// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

/// Functions of the library for the CPU's loops. They do not set errno, so that loops over them can
/// become vector instructions, and GCC calls their variants for whole vectors, which have the same
/// bits; directly, since a jump of the procedure linkage table takes as long as a call does.
#define QUARRY_VECTOR_FUNCTIONS(row) row(sqrt) row(exp) row(log) row(sin) row(cos) row(tanh)

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define QUARRY_HAS_VARIANTS __attribute__((simd("notinbranch"), const, noplt))
#else
#define QUARRY_HAS_VARIANTS __attribute__((const))
#endif
#define QUARRY_DECLARED(function)                                   \
  extern "C" QUARRY_HAS_VARIANTS float quarry_##function##f(float); \
  extern "C" QUARRY_HAS_VARIANTS double quarry_##function(double);
QUARRY_VECTOR_FUNCTIONS(QUARRY_DECLARED)
#undef QUARRY_DECLARED
#undef QUARRY_HAS_VARIANTS
