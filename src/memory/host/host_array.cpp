// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/host_array.hpp"

#include <fmt/format.h>

#include <quarry/base/error.hpp>

namespace quarry {

Strides detail::byte_strides(const Shape& shape, Strides in_elements, std::size_t itemsize) {
  const bool empty = element_count(shape) == 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool walked = !empty && shape[d] > 1;
    std::int64_t& stride = in_elements[d];
    stride = walked ? checked_mul(stride, static_cast<std::int64_t>(itemsize)) : 0;
  }
  return in_elements;
}

namespace memory {

void require_address(const HostRef& host) {
  require<LogicError>(host.data != nullptr, [&] {
    return fmt::format("host memory of shape {} at a null address", to_string(host.layout.shape));
  });
}

}  // namespace memory
}  // namespace quarry
