// SPDX-License-Identifier: BSD-3-Clause
#include "base/whole_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <quarry/base/error.hpp>

namespace quarry {

std::string whole_file(const char* what, const std::string& name) {
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  std::string bytes;
  // a folder can be opened, and fails when it is read
  if (file) bytes.assign(std::istreambuf_iterator<char>(file), {});
  require<RuntimeError>(!file.fail() && errno == 0, [&] {
    return fmt::format("{} {} cannot be read: {}", what, name, std::strerror(errno));
  });
  return bytes;
}

}  // namespace quarry
