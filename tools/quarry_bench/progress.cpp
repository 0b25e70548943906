// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace bench {

Progress::Progress(std::size_t steps)
    : steps_(steps), is_terminal_(isatty(STDERR_FILENO) && steps > 0) {}

void Progress::at(const std::string& section, const std::string& what) {
  if (is_terminal_) {
    constexpr std::size_t width = 30;
    const std::size_t full = width * done_ / steps_;
    fmt::print(stderr, "\r\x1b[K[{}{}] {:3} %  {}: {}", std::string(full, '#'),
               std::string(width - full, '.'), 100 * done_ / steps_, section, what);
    std::fflush(stderr);
    is_shown_ = true;
  } else if (section != section_) {
    fmt::print(stderr, "{}\n", section);
  }
  section_ = section;
  if (done_ < steps_) ++done_;
}

void Progress::clear() {
  if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace bench
