// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <string>

namespace bench {

/// How far the run is: a bar on a terminal (standard error), else a line for every section.
class Progress {
 public:
  explicit Progress(std::size_t steps);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }
  /// To be called before a step.
  void at(const std::string& section, const std::string& what);
  /// Takes the bar away, so that a line can be printed.
  void clear();

 private:
  std::size_t steps_, done_ = 0;
  bool is_terminal_, is_shown_ = false;
  std::string section_;
};

}  // namespace bench
