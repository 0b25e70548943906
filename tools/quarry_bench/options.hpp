// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class Part { transfers, allocation };

/// What the command line says.
struct Options {
  Part part = Part::transfers;
  std::optional<quarry::Device> device;
  bool quick = false;
  std::optional<std::size_t> most_bytes;  ///< --max
  std::string json, html;                 ///< files, empty for none
  bool help = false;
};

extern const char* const usage;

/// Throws LogicError with what is wrong.
Options parse_options(const std::vector<std::string_view>& arguments);

/// "64MiB", "64M", "1GiB", "4096": bytes. Throws LogicError.
std::size_t parse_size(std::string_view text);

}  // namespace bench
