// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <quarry/kernels/types.hpp>

/// Operands of drawn layouts in one piece of memory, with bytes between and round them that no
/// kernel may touch, and elements that tell of every read and write.
namespace quarry::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::uint64_t bits() { return random_(); }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::int64_t>(choices.size()))];
  }

 private:
  std::mt19937_64 random_;
};

using Extents = std::vector<std::int64_t>;
std::int64_t product(const Extents& extents);

/// Where the elements of an operand lie: bytes, relative to the first byte of the lowest one.
struct DrawnLayout {
  std::vector<std::int64_t> strides;
  std::int64_t origin = 0, bytes = 0;  ///< of element (0, 0, ...); up to the end of the last one

  std::int64_t offset(const Extents& extents, std::int64_t position) const;
};
DrawnLayout dense_layout(const Extents& extents, std::int64_t itemsize);
/// Every second element of dense memory, without what follows the last one.
DrawnLayout layout_with_gaps(const Extents& extents, std::int64_t itemsize);
/// Any strides: dense (most often, as that has vectors), padded, permuted, backwards, and with
/// `can_repeat` elements that stand for a whole axis.
DrawnLayout draw_layout(Draw& draw, const Extents& extents, std::int64_t itemsize, bool can_repeat);

/// The memory of one launch, and who may touch what. One exists at a time.
class Arena {
 public:
  explicit Arena(std::uint64_t seed);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// The address of the lowest byte of a new operand, aligned to `alignment` and to no more.
  std::byte* place(Draw& draw, std::int64_t bytes, std::int64_t alignment);
  void allow_read(const void* element) { role_[offset(element)] |= 1; }
  /// At most once, and after it was read.
  void allow_update(const void* element) { role_[offset(element)] |= 1 | 2; }
  void require_write(const void* element) { role_[offset(element)] |= 2 | 4; }

  std::byte* begin() const { return memory_.get(); }
  std::span<std::byte> all() const { return {begin(), size}; }
  std::size_t offset(const void* element) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(element) - begin());
  }
  /// What was read or written that is no element of an operand, and what was not written once.
  std::vector<std::string> faults() const;

  static void note_read(const void* element);
  static void note_write(const void* element);

 private:
  static constexpr std::size_t size = std::size_t{1} << 20, guard = 256;
  bool holds(const void* address) const { return offset(address) < size; }

  struct Release {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Release> memory_;
  std::vector<std::uint8_t> role_, writes_;
  std::size_t used_ = guard * 16;
  std::set<std::string> faults_;
};

/// An element whose copies from and to the arena are seen. Its bytes are no number.
template <std::size_t Size, std::size_t Alignment = (Size & (Size - 1)) == 0 ? Size : 1>
struct alignas(Alignment) watched {
  unsigned char bytes[Size];

  watched() = default;
  watched(const watched& other) {
    Arena::note_read(&other);
    std::memcpy(bytes, other.bytes, Size);
  }
  watched& operator=(const watched& other) {
    Arena::note_read(&other);
    Arena::note_write(this);
    std::memcpy(bytes, other.bytes, Size);
    return *this;
  }
};
template <class T>
inline constexpr bool is_watched = false;
template <std::size_t Size, std::size_t Alignment>
inline constexpr bool is_watched<watched<Size, Alignment>> = true;

/// Any bytes for types that are no numbers, small numbers for the others.
template <class T>
void draw_element(Draw& draw, void* at) {
  if constexpr (kernels::is_floating<T> || kernels::is_complex<T>) {
    const T value = kernels::convert<T>(static_cast<int>(draw.below(1000)) - 500);
    std::memcpy(at, &value, sizeof(T));
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      static_cast<unsigned char*>(at)[i] = static_cast<unsigned char>(draw.bits());
    }
  }
}

}  // namespace quarry::test
