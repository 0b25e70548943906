// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

namespace quarry::test {

/// A program, which says whether its values were right.
struct Program {
  const char* name;
  bool (*run)();
  void (*prepare)() = nullptr;  ///< the kernels of the second GPU, as they are before the run
};

/// Programs that take much host memory in little time; for any device. They expect the thresholds
/// of small_copies().
std::vector<Program> host_programs();

}  // namespace quarry::test
