// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/copy.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr std::int64_t shared_bytes = std::int64_t{4} << 20;  // below this one thread is as fast
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
constexpr std::size_t staged_bytes = std::size_t{64} << 10;  // host bytes copied into a task

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto part = [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  };
  if (bytes < shared_bytes) return part(0, bytes);
  parallel(bytes, piece_bytes, part);
}

std::size_t bytes_of(const Copy& copy) { return copy.bytes * copy.rows * copy.slices; }

/// The rows of `copy` one after another without gaps.
std::vector<std::byte> packed(const Copy& copy) {
  std::vector<std::byte> bytes(bytes_of(copy));
  Copy pack = copy;
  pack.to = bytes.data();
  pack.to_pitch = copy.bytes;
  pack.to_slice = copy.bytes * copy.rows;
  copy_now(pack);
  return bytes;
}

void copy_slice(const Copy& copy) {
  auto* const to = static_cast<std::byte*>(copy.to);
  const auto* const from = static_cast<const std::byte*>(copy.from);
  const auto row_bytes = static_cast<std::int64_t>(copy.bytes),
             rows = static_cast<std::int64_t>(copy.rows);
  if (rows == 1 || (copy.to_pitch == copy.bytes && copy.from_pitch == copy.bytes)) {
    return copy_bytes(to, from, row_bytes * rows);
  }
  const std::int64_t grain = row_bytes * rows < shared_bytes ? rows : piece_bytes / row_bytes + 1;
  parallel(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      std::memcpy(to + row * copy.to_pitch, from + row * copy.from_pitch, copy.bytes);
    }
  });
}

}  // namespace

void copy_now(const Copy& copy) {
  if (bytes_of(copy) == 0 || copy.to == copy.from) return;
  Copy slice = copy;
  for (std::size_t i = 0; i < copy.slices; ++i) {
    slice.to = static_cast<std::byte*>(copy.to) + i * copy.to_slice;
    slice.from = static_cast<const std::byte*>(copy.from) + i * copy.from_slice;
    copy_slice(slice);
  }
}

void copy_in_order(Streams& streams, const Copy& copy, Stream stream, bool blocking) {
  const Queue* const queue = Streams::queue(stream);
  const auto accesses_host_later = [&] { return queue && queue->is_recording(); };
  if (!blocking && (copy.direction == Direction::device_to_device || accesses_host_later())) {
    streams.run(stream, [copy] { copy_now(copy); });
  } else if (!blocking && queue && copy.direction == Direction::host_to_device &&
             bytes_of(copy) <= staged_bytes) {
    streams.run(stream, [copy = Copy(copy), bytes = packed(copy)]() mutable {
      copy.from = bytes.data();
      copy.from_pitch = copy.bytes;
      copy.from_slice = copy.bytes * copy.rows;
      copy_now(copy);
    });
  } else {
    streams.run_and_wait(stream, [copy] { copy_now(copy); });
  }
}

void copy_pieces(Streams& streams, Direction direction, std::span<const Piece> pieces,
                 Stream stream) {
  auto all = [pieces = std::vector<Piece>(pieces.begin(), pieces.end())] {
    for (const Piece& piece : pieces) {
      if (piece.bytes > 0) {
        copy_bytes(static_cast<std::byte*>(piece.to), static_cast<const std::byte*>(piece.from),
                   static_cast<std::int64_t>(piece.bytes));
      }
    }
  };
  if (direction == Direction::device_to_device) {
    streams.run(stream, std::move(all));
  } else {
    streams.run_and_wait(stream, all);
  }
}

void fill_now(void* to, const std::array<std::byte, 16>& pattern, std::size_t size,
              std::int64_t count) {
  constexpr std::int64_t block_bytes = 256;  // a multiple of every pattern's size
  std::array<std::byte, block_bytes> block;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = pattern[i % size];
  auto* const bytes = static_cast<std::byte*>(to);
  const std::int64_t total = count * static_cast<std::int64_t>(size);
  const std::int64_t blocks = (total + block_bytes - 1) / block_bytes;
  const std::int64_t grain = total < shared_bytes ? blocks : piece_bytes / block_bytes;
  parallel(blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t stop = std::min(end * block_bytes, total);
    std::int64_t at = begin * block_bytes;
    for (; at + block_bytes <= stop; at += block_bytes)
      std::memcpy(bytes + at, block.data(), block_bytes);
    if (at < stop) std::memcpy(bytes + at, block.data(), static_cast<std::size_t>(stop - at));
  });
}

}  // namespace quarry::backend::cpu_backend
