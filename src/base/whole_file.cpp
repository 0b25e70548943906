// SPDX-License-Identifier: BSD-3-Clause
#include "base/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include <quarry/base/error.hpp>

#include "base/file_io.hpp"

namespace quarry {
namespace {

/// Piece by piece: a pipe has no size. Returns an errno.
int read_all(int descriptor, std::string& bytes) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (;;) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + piece);
    const detail::Moved moved =
        detail::read_fully(descriptor, std::as_writable_bytes(std::span(bytes)).subspan(begin));
    bytes.resize(begin + moved.bytes);
    if (moved.error != 0 || moved.bytes < piece) return moved.error;
  }
}

}  // namespace

std::string whole_file(const char* what, const std::string& name) {
  std::string bytes;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = descriptor < 0 ? errno : read_all(descriptor, bytes);
  if (descriptor >= 0) ::close(descriptor);
  require<RuntimeError>(error == 0, [&] {
    return fmt::format("{} {} cannot be read: {}", what, name, std::strerror(error));
  });
  return bytes;
}

}  // namespace quarry
