// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "io/npy_file.hpp"
#include "io/npy_format.hpp"

namespace quarry::npy {

/// The bytes of an .npy file: those of a file, or of a member of an archive. Throws IoError if they
/// cannot be read, FormatError if they are not what was written.
class Content {
 public:
  Content(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;

  const std::string& name() const noexcept { return name_; }  ///< begins the text of errors
  std::uint64_t size() const noexcept { return size_; }

  /// The first bytes, no more than max_header_size.
  virtual void peek(std::span<std::byte> out) = 0;
  /// Those from `at` on. No byte is read twice.
  virtual void read(std::uint64_t at, std::span<std::byte> out) = 0;
  /// Whether several threads may read, in any order; else a read() begins where the last one ended.
  virtual bool is_parallel() const noexcept = 0;
  /// After the last read(): throws FormatError if a checksum is wrong.
  virtual void verify() {}

 private:
  std::string name_;
  std::uint64_t size_;
};

/// A file of its own.
class FileContent final : public Content {
 public:
  explicit FileContent(const InputFile& file) : Content(file.path(), file.size()), file_(file) {}

  void peek(std::span<std::byte> out) override { file_.read(0, out); }
  void read(std::uint64_t at, std::span<std::byte> out) override { file_.read(at, out); }
  bool is_parallel() const noexcept override { return true; }

 private:
  InputFile file_;
};

/// An .npy file whose header has been read; its elements are read in the order of the file, into
/// the caller's memory, so that no copy of the file is ever held. Throws IoError (path and reason)
/// for a file that cannot be read or is not a regular one, else as parse_header, its name added.
class Reader {
 public:
  explicit Reader(const std::string& path);
  explicit Reader(std::unique_ptr<Content> content);

  const std::string& name() const noexcept { return content_->name(); }
  const Header& header() const noexcept { return header_; }
  /// The next elements, normalised. `out` holds whole elements, no more than are left. Throws
  /// IoError if the file has become shorter since it was opened.
  void read(std::span<std::byte> out);
  /// Whether read_at() may be called: by any threads.
  bool is_parallel() const noexcept {
    return content_->is_parallel() && is_bytewise(header_.descr);
  }
  /// Bytes of the elements from byte `first` on, in the order of the file, normalised.
  void read_at(std::uint64_t first, std::span<std::byte> out);
  /// After the last elements, as Content's.
  void verify() { content_->verify(); }

 private:
  std::unique_ptr<Content> content_;
  Header header_;
  std::uint64_t at_;
};

}  // namespace quarry::npy
