// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quarry::zip {

[[noreturn]] inline void refuse(const std::string& why) { throw FormatError("zip: " + why); }

/// Takes little-endian numbers and bytes one after another. Throws FormatError at the end.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) refuse("truncated: " + std::string(what_));
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  void skip(std::size_t count) { take(count); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::string text(std::size_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::uint64_t number(std::size_t count) {
    const auto taken = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | std::uint64_t(taken[i]);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string_view what_;
};

/// Little-endian numbers one after another.
class Bytes {
 public:
  Bytes& u16(std::uint64_t value) { return number(value, 2); }
  Bytes& u32(std::uint64_t value) { return number(value, 4); }
  Bytes& u64(std::uint64_t value) { return number(value, 8); }
  Bytes& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  std::size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  Bytes& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
    return *this;
  }

  std::string bytes_;
};

}  // namespace quarry::zip
