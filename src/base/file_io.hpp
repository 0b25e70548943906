// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

/// Whole reads and writes of files. A system call may transfer fewer bytes than requested (Linux
/// moves at most 2 GiB less a page), or be interrupted by a signal.
namespace quarry::detail {

struct Moved {
  std::size_t bytes;
  int error;  ///< an errno; 0 if there was none
};

/// Fills `out` unless the file ends before.
Moved read_fully(int descriptor, std::span<std::byte> out);
/// The same from offset `at` of the file; any threads.
Moved read_fully_at(int descriptor, std::uint64_t at, std::span<std::byte> out);
/// Writes all of `bytes`. A file larger than RLIMIT_FSIZE allows is the error EFBIG, whatever the
/// program's handler of the signal SIGXFSZ, which by default ends it.
Moved write_fully(int descriptor, std::span<const std::byte> bytes);
/// The same at offset `at` of the file.
Moved write_fully_at(int descriptor, std::uint64_t at, std::span<const std::byte> bytes);

}  // namespace quarry::detail
