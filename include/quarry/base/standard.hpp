// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The first include of every public header.

#if __cplusplus < 202002L
#error "Quarry needs C++20: compile with -std=c++20 or later"
// This file does not exist: the compiler stops here instead of after hundreds of errors.
#define QUARRY_NEEDS_CXX20 <quarry/needs_cxx20>
#include QUARRY_NEEDS_CXX20
#endif
