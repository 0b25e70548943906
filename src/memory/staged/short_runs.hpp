// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace quarry::memory {

/// Copies runs of a few bytes that lie so close together that a vector of 16 bytes holds several of
/// them: one channel of an image, three of four bytes. A byte a move would be slower than memory.
class ShortRuns {
 public:
  /// Runs of `run` bytes, `step` bytes apart.
  ShortRuns(std::size_t run, std::size_t step);

  ///@{
  /// Copies the first of `count` runs to or from dense memory, as many as whole vectors hold, and
  /// returns how many: 0 for other runs, or where the processor lacks the instructions. Neither
  /// side is read before its first or after its last byte; nothing between the runs is written.
  std::size_t pack(std::byte* to, const std::byte* from, std::size_t count) const;
  std::size_t unpack(std::byte* to, const std::byte* from, std::size_t count) const;
  ///@}

 private:
  using Bytes = std::array<std::uint8_t, 16>;

  std::size_t run_, step_;
  std::size_t each_ = 0;   ///< runs in a vector
  std::size_t least_ = 0;  ///< so many runs are at least 16 bytes long on both sides
  alignas(16) Bytes packed_{}, spread_{};  ///< the byte that goes to every byte; 0x80: none
  std::uint16_t written_ = 0;              ///< bytes of a spread vector that belong to runs
};

}  // namespace quarry::memory
