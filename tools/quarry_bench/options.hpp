// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace bench {

/// What the command line says.
struct Options {
  std::string part;  ///< transfers or allocation
  std::optional<quarry::Device> device;
  bool quick = false;
  std::optional<std::size_t> most_bytes;  ///< --max
  std::string json, html;                 ///< files, empty for none
};

/// Fills `options`. Gives the exit code where there is nothing left to do: 0 after --help, 2 after
/// a refusal.
std::optional<int> parse_options(Options& options, int argc, const char* const* argv);

}  // namespace bench
