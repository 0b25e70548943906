// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::test {

/// A launch of one kernel of a map.
struct PtxLaunch {
  std::vector<std::uint64_t> block = {};  ///< the parameter `block`
  std::uint32_t more = 0;                 ///< the parameter behind it
  std::uint32_t grid_x = 1, grid_y = 1, block_x = 1, block_y = 1;
};

/// Runs the only kernel of `module`, thread by thread, on the host's memory. Knows the instructions
/// of maps, of conversions and of plain arithmetic; throws std::runtime_error with the statement
/// for any other, for calls, and for accesses that are not aligned.
void run_ptx(const std::string& module, const PtxLaunch& launch);

}  // namespace quarry::test
