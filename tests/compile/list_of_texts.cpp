// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <string>
#include <vector>

#ifdef QUARRY_VALID
using Row = std::vector<float>;
#else
using Row = std::string;
#endif
auto f(const std::vector<Row>& rows) {
  return quarry::to_device(
      rows);  // one error: this is no memory of the host, and no list of elements
}
