// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::backend::cuda {

/// FNV-1a of 128 bits, for names and against damaged files; it is no cryptographic hash.
class Digest {
 public:
  Digest& add(std::string_view bytes) {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * prime;
    return *this;
  }
  /// Text without a 0, and its end.
  Digest& add_field(std::string_view text) { return add(text).add(std::string_view("\0", 1)); }
  /// 32 hexadecimal digits.
  std::string hex() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int shift = 124; shift >= 0; shift -= 4) {
      text += digits[static_cast<std::size_t>(state_ >> shift) & 15];
    }
    return text;
  }

 private:
  __extension__ using Word = unsigned __int128;
  static constexpr Word prime = (Word{1} << 88) + 0x13b;
  Word state_ = Word{0x6c62272e07bb0142} << 64 | 0x62b821756295c58d;
};

}  // namespace quarry::backend::cuda
