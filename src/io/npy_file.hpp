// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace quarry::npy {

/// The descriptor of a file that exists, which need not be a regular one. Throws IoError.
int open_file(const std::string& path, int flags);

/// Throws IoError: the path, what was tried, and the text of an errno.
[[noreturn]] void fail(const std::string& path, std::string_view doing, int error);

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

/// A regular file, read at any place by any thread. A handle. Throws IoError (path and reason).
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  InputFile(std::string path, std::shared_ptr<const File> file);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }  ///< when it was opened
  int descriptor() const noexcept { return file_->descriptor(); }
  /// Fills `out` with what begins at byte `at`. Throws IoError if the file has become shorter.
  void read(std::uint64_t at, std::span<std::byte> out) const;

 private:
  std::string path_;
  std::shared_ptr<const File> file_;
  std::uint64_t size_;
};

/// Where the bytes of an .npy file go.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
};

/// A file written beside its final place and renamed there by commit(): no reader sees a partial
/// file, and without a commit (disk full, an exception) the old file stays and the new one is
/// removed. A symbolic link is followed, also where there is no file yet; the mode of a file that
/// is replaced is kept. Throws IoError.
class Writer final : public Sink {
 public:
  explicit Writer(std::string path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() override;

  using Sink::write;
  void write(std::span<const std::byte> bytes) override;
  /// Over bytes that have been written; the place of the next write() stays.
  void rewrite(std::uint64_t at, std::span<const std::byte> bytes);
  std::uint64_t written() const noexcept { return written_; }  ///< bytes so far
  /// With `sync` the contents are on the disk before the old file is replaced.
  void commit(bool sync);

 private:
  std::string path_;
  std::string name_;       ///< in the directory
  std::string temporary_;  ///< empty once renamed
  File directory_;
  File file_;
  std::uint64_t written_ = 0;
};

}  // namespace quarry::npy
