// SPDX-License-Identifier: BSD-3-Clause
#include "io/deflate.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quarry::zip {

namespace {

constexpr std::size_t buffer_size = 64 << 10;
constexpr int raw_window = -15;  // no header of zlib's
constexpr int memory_level = 8;  // zlib's default, which has no name
constexpr std::size_t largest_step = std::size_t{1} << 30;
using Buffer = std::array<std::byte, buffer_size>;

Bytef* zlib_bytes(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

void require_crc(std::uint32_t crc, const Packed& packed) {
  require<FormatError>(crc == packed.member.crc, [&] {
    return fmt::format("{}: zip: the CRC is {:08x}, not {:08x}: the data are damaged", packed.name,
                       crc, packed.member.crc);
  });
}

}  // namespace

std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(::crc32_z(before, zlib_bytes(bytes.data()), bytes.size()));
}

StoredContent::StoredContent(Packed packed)
    : Content(packed.name, packed.member.size), packed_(std::move(packed)) {}

void StoredContent::read(std::uint64_t at, std::span<std::byte> out) {
  constexpr std::size_t step = 256 << 10;  // that a core's cache holds
  std::uint32_t crc = 0;
  for (std::size_t done = 0; done < out.size(); done += step) {
    const auto part = out.subspan(done, std::min(step, out.size() - done));
    packed_.file.read(packed_.begin + at + done, part);
    crc = crc_of(part, crc);
  }
  const std::lock_guard lock(mutex_);
  blocks_.push_back({at, out.size(), crc});
}

void StoredContent::verify() {
  std::ranges::sort(blocks_, {}, &Block::at);
  std::uint32_t crc = 0;
  std::uint64_t done = 0;
  const auto buffer = std::make_unique<Buffer>();
  const auto read_to = [&](std::uint64_t end) {
    while (done < end) {
      const auto part = std::span(*buffer).first(std::min<std::uint64_t>(end - done, buffer_size));
      packed_.file.read(packed_.begin + done, part);
      crc = crc_of(part, crc);
      done += part.size();
    }
  };
  for (const Block& block : blocks_) {
    read_to(block.at);
    crc = static_cast<std::uint32_t>(
        ::crc32_combine(crc, block.crc, static_cast<z_off_t>(block.size)));
    done += block.size;
  }
  read_to(size());
  require_crc(crc, packed_);
}

struct DeflatedContent::State {
  z_stream stream{};
  std::uint64_t taken = 0;  ///< bytes of the archive
  std::uint64_t given = 0;  ///< bytes of the content
  std::uint32_t crc = 0;
  bool at_end = false;
  Buffer buffer;
};

DeflatedContent::DeflatedContent(Packed packed)
    : Content(packed.name, packed.member.size),
      packed_(std::move(packed)),
      state_(std::make_unique<State>()),
      start_(std::min<std::uint64_t>(size(), npy::max_header_size)) {
  require<MemoryError>(::inflateInit2(&state_->stream, raw_window) == Z_OK,
                       [&] { return name() + ": no host memory for inflating"; });
  try {
    inflate(start_);
  } catch (...) {
    ::inflateEnd(&state_->stream);
    throw;
  }
}

DeflatedContent::~DeflatedContent() { ::inflateEnd(&state_->stream); }

void DeflatedContent::fail(const std::string& why) const {
  throw FormatError(
      fmt::format("{}: zip: {}: {} of {} bytes inflated", name(), why, state_->given, size()));
}

void DeflatedContent::peek(std::span<std::byte> out) {
  std::ranges::copy(std::span(start_).first(out.size()), out.begin());
}

void DeflatedContent::read(std::uint64_t at, std::span<std::byte> out) {
  const std::uint64_t from = std::min<std::uint64_t>(at, start_.size());
  const auto kept = std::span(start_).subspan(from).first(
      std::min<std::uint64_t>(start_.size() - from, out.size()));
  std::ranges::copy(kept, out.begin());
  inflate(out.subspan(kept.size()));
}

/// Refills the input if it is used up.
std::size_t DeflatedContent::step(std::span<std::byte> out) {
  State& s = *state_;
  z_stream& z = s.stream;
  if (z.avail_in == 0) {
    const std::uint64_t left = packed_.member.packed_size - s.taken;
    const auto part = std::span(s.buffer).first(std::min<std::uint64_t>(left, buffer_size));
    packed_.file.read(packed_.begin + s.taken, part);
    s.taken += part.size();
    z.next_in = zlib_bytes(part.data());
    z.avail_in = static_cast<uInt>(part.size());
  }
  const std::size_t room = std::min(out.size(), largest_step);
  z.next_out = zlib_bytes(out.data());
  z.avail_out = static_cast<uInt>(room);
  const int status = ::inflate(&z, Z_NO_FLUSH);
  if (status == Z_MEM_ERROR) throw MemoryError(name() + ": no host memory for inflating");
  if (status == Z_BUF_ERROR) fail("the data are cut short");
  if (status != Z_OK && status != Z_STREAM_END)
    fail(std::string("no deflated data: ") + (z.msg != nullptr ? z.msg : "a dictionary"));
  s.at_end = status == Z_STREAM_END;
  return room - z.avail_out;
}

void DeflatedContent::inflate(std::span<std::byte> out) {
  State& s = *state_;
  while (!out.empty()) {
    if (s.at_end) fail("the data end early");
    const std::size_t now = step(out);
    s.crc = crc_of(out.first(now), s.crc);
    s.given += now;
    out = out.subspan(now);
  }
}

void DeflatedContent::verify() {
  State& s = *state_;
  const auto rest = std::make_unique<Buffer>();
  while (s.given < size())
    inflate(std::span(*rest).first(std::min<std::uint64_t>(size() - s.given, buffer_size)));
  while (!s.at_end) {
    if (step(std::span(*rest).first(1)) != 0) fail("there are more data");
  }
  if (s.stream.avail_in != 0 || s.taken != packed_.member.packed_size)
    fail("there are bytes after the data");
  require_crc(s.crc, packed_);
}

struct Deflater::State {
  z_stream stream{};
  Buffer buffer;
};

Deflater::Deflater(npy::Sink& to) : to_(to), state_(std::make_unique<State>()) {
  const int status = ::deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_window,
                                    memory_level, Z_DEFAULT_STRATEGY);
  require<MemoryError>(status == Z_OK, "no host memory for deflating");
}

Deflater::~Deflater() { ::deflateEnd(&state_->stream); }

void Deflater::deflate(std::span<const std::byte> bytes, bool last) {
  z_stream& z = state_->stream;
  bool more = last || !bytes.empty();
  while (more) {
    const std::size_t part = std::min(bytes.size(), largest_step);
    z.next_in = zlib_bytes(bytes.data());
    z.avail_in = static_cast<uInt>(part);
    z.next_out = zlib_bytes(state_->buffer.data());
    z.avail_out = static_cast<uInt>(buffer_size);
    ::deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(part - z.avail_in);
    to_.write(std::span(state_->buffer).first(buffer_size - z.avail_out));
    more = !bytes.empty() || z.avail_out == 0;
  }
}

}  // namespace quarry::zip
