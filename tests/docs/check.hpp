// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdio>
#include <cstdlib>

/// For the programs whose marked parts are the examples of the documents: ends the program where
/// what an example says does not hold.
#define CHECK(...)                                                           \
  do {                                                                       \
    if (!(__VA_ARGS__)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)
