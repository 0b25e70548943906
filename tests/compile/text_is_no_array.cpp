// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f() {
#ifdef QUARRY_VALID
  const signed char letters[] = {'a', 'b'};
  return quarry::to_device(letters);
#else
  return quarry::to_device("ab");  // one error: this is no memory of the host, and no list of
#endif
}
