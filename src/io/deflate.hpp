// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/npy_file.hpp"
#include "io/npy_reader.hpp"
#include "io/zip_format.hpp"

/// What zlib does for archives: checksums, and data that are deflated.
namespace quarry::zip {

std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The data of a member in the archive.
struct Packed {
  const npy::InputFile& file;
  std::uint64_t begin;
  Member member;
  std::string name;  ///< for errors
};

/// The bytes of a stored member; blocks are checked by the threads that read them.
class StoredContent final : public npy::Content {
 public:
  explicit StoredContent(Packed packed);

  void peek(std::span<std::byte> out) override { packed_.file.read(packed_.begin, out); }
  void read(std::uint64_t at, std::span<std::byte> out) override;
  bool is_parallel() const noexcept override { return true; }
  /// Reads what has not been read.
  void verify() override;

 private:
  struct Block {
    std::uint64_t at, size;
    std::uint32_t crc;
  };

  Packed packed_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

/// The bytes of a deflated member.
class DeflatedContent final : public npy::Content {
 public:
  explicit DeflatedContent(Packed packed);
  ~DeflatedContent() override;

  void peek(std::span<std::byte> out) override;
  void read(std::uint64_t at, std::span<std::byte> out) override;
  bool is_parallel() const noexcept override { return false; }
  void verify() override;

 private:
  struct State;
  void inflate(std::span<std::byte> out);
  std::size_t step(std::span<std::byte> out);
  [[noreturn]] void fail(const std::string& why) const;

  Packed packed_;
  std::unique_ptr<State> state_;
  std::vector<std::byte> start_;  ///< what may be peeked at
};

/// Deflates bytes into `to`.
class Deflater {
 public:
  explicit Deflater(npy::Sink& to);
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater();

  void write(std::span<const std::byte> bytes) { deflate(bytes, false); }
  void finish() { deflate({}, true); }

 private:
  struct State;
  void deflate(std::span<const std::byte> bytes, bool last);

  npy::Sink& to_;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::zip
