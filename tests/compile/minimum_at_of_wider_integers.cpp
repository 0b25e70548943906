// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<std::int8_t>& a, const quarry::DeviceNDArray<std::int64_t>& i) {
#ifdef QUARRY_VALID
  minimum_at(a(i), i.astype<std::int8_t>());
#else
  minimum_at(a(i), i);  // one error: integers of this type can become others in these elements
#endif
}
