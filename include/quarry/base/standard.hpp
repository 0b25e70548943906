// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The first thing that every public header comes to.

#if __cplusplus < 202002L
#error "Quarry needs C++20: compile with -std=c++20 or later"
// There is no such file: the compiler ends here, and not after hundreds of further errors.
#define QUARRY_NEEDS_CXX20 <quarry/needs_cxx20>
#include QUARRY_NEEDS_CXX20
#endif
