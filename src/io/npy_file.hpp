// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "io/npy_format.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quarry::npy {

/// Closes a file descriptor.
class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  int descriptor() const noexcept { return descriptor_; }
  /// Writes the file to the disk if `sync`, then closes it. Returns 0 or an errno.
  int close(bool sync) noexcept;

 private:
  int descriptor_;
};

/// An .npy file whose header has been read; its elements are read in the order of the file, into
/// the caller's memory, so that no copy of the file is ever held. Throws IoError (path and reason)
/// for a file that cannot be read or is not a regular one, else as parse_header, path added.
class Reader {
 public:
  explicit Reader(std::string path);

  const Header& header() const noexcept { return header_; }
  /// The next elements, normalised. `out` holds whole elements, no more than are left. Throws
  /// IoError if the file has become shorter since it was opened.
  void read(std::span<std::byte> out);

 private:
  std::string path_;
  File file_;
  Header header_;
};

/// A file written beside its final place and renamed there by commit(): no reader sees a partial
/// file, and without a commit (disk full, an exception) the old file stays and the new one is
/// removed. A symbolic link is followed, also where there is no file yet; the mode of a file that
/// is replaced is kept. Throws IoError.
class Writer {
 public:
  explicit Writer(std::string path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  /// With `sync` the contents are on the disk before the old file is replaced.
  void commit(bool sync);

 private:
  std::string path_;
  std::string name_;       ///< in the directory
  std::string temporary_;  ///< empty once renamed
  File directory_;
  File file_;
};

}  // namespace quarry::npy
