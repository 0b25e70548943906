// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/registered.hpp>

#include <vector>

void f() {
#ifdef QUARRY_VALID
  std::vector<float> a(10);
  const auto scope = quarry::pinned(a);
#else
  const auto scope = quarry::pinned(std::vector<float>(10));  // error: cannot bind
#endif
}
