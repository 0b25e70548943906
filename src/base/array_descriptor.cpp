// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/array_descriptor.hpp>

#include <fmt/format.h>

namespace quarry {

std::string to_string(const ArrayDescriptor& d) {
  return fmt::format("{} x {} x {} of {} x {}{}{}{}{}", d.width, d.height, d.depth, d.num_channels,
                     to_string(d.dtype), d.layered ? ", layered" : "", d.cubemap ? ", cubemap" : "",
                     d.surface_load_store ? ", surface load and store" : "",
                     d.texture_gather ? ", texture gather" : "");
}

}  // namespace quarry
