// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace quarry {

inline constexpr std::size_t max_rank = 32;  ///< axes that an array can have

namespace detail {
[[noreturn]] void throw_extent_too_large(std::uint64_t value);
[[noreturn]] void throw_rank_too_large(std::size_t rank);
[[noreturn]] void throw_no_axis(std::size_t axis, std::size_t rank);
[[noreturn]] void throw_mul_overflow(std::int64_t a, std::int64_t b);
[[noreturn]] void throw_add_overflow(std::int64_t a, std::int64_t b);
}  // namespace detail

/// An integer type except bool.
template <class I>
concept Integer = std::integral<I> && !std::same_as<I, bool>;

/// One extent or stride as a caller writes it: any integer type but bool. Throws ShapeError for an
/// unsigned value above INT64_MAX.
struct Extent {
  /// Implicit, so that plain integers can be written.
  template <Integer I>
  constexpr Extent(I v) : value(std::int64_t(v)) {
    if (!std::in_range<std::int64_t>(v)) detail::throw_extent_too_large(std::uint64_t(v));
  }

  std::int64_t value;  ///< the integer
};

namespace detail {
/// The first member of options whose others are given by their names only: {.size = n}, not {n}.
class ByName {
 public:
  constexpr ByName() {}  // NOLINT(modernize-use-equals-default): no aggregate
};
}  // namespace detail

/// std::vector<int>, std::span, std::array, ...: extents or axes that are known at run time only.
template <class R>
concept IntegerRange = requires(const R& r) {
  { *r.begin() + 0 } -> Integer;
  { r.begin() != r.end() } -> std::convertible_to<bool>;
}
&&!requires(const R& r) { r.device(); };

/// Up to 32 integers, of which 8 need no heap: extents, byte strides or axes. A longer one throws
/// ShapeError.
class Dims {
 public:
  using value_type = std::int64_t;  ///< of extents, strides and axes

  Dims() noexcept = default;
  /// The entries in braces: Shape{3, 4}.
  Dims(std::initializer_list<Extent> values) {
    allocate(values.size());
    std::int64_t* out = data();
    for (const Extent e : values) *out++ = e.value;
  }
  /// One extent: Shape(3) is (3,).
  template <Integer I>
  Dims(I extent) : Dims({Extent(extent)}) {}
  ///@{
  /// The entries of a range or a span, as they are known at run time.
  template <class R>
  requires(!std::same_as<R, Dims> && IntegerRange<R>) Dims(const R& values)
      : Dims(values.begin(), values.end()) {}
  explicit Dims(std::span<const std::int64_t> values) {
    allocate(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) data()[i] = values[i];
  }
  template <std::input_iterator It, std::sentinel_for<It> End>
  requires std::integral<std::iter_value_t<It>> Dims(It first, End last) : Dims() {
    for (; first != last; ++first) push_back(Extent(*first).value);
  }
  ///@}
  /// `rank` times `value`.
  static Dims filled(std::size_t rank, std::int64_t value) {
    Dims dims;
    dims.assign(rank, value);
    return dims;
  }

  ///@{
  /// A copy has its own entries.
  Dims(const Dims& other) : size_(other.size_) {
    if (size_ <= inline_capacity) [[likely]]
      std::memcpy(&storage_, &other.storage_, sizeof storage_);
    else
      copy_heap(other);
  }
  Dims(Dims&& other) noexcept : size_(other.size_) {
    std::memcpy(&storage_, &other.storage_, sizeof storage_);
    other.size_ = 0;
  }
  Dims& operator=(const Dims& other) {
    if (this != &other) *this = Dims(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(size_, other.size_);
    return *this;
  }
  ///@}
  ~Dims() {
    if (size_ > inline_capacity) [[unlikely]]
      delete[] storage_.heap;
  }

  ///@{
  /// As of std::vector.
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t* data() noexcept { return on_heap() ? storage_.heap : storage_.values; }
  const std::int64_t* data() const noexcept { return on_heap() ? storage_.heap : storage_.values; }
  std::int64_t* begin() noexcept { return data(); }
  std::int64_t* end() noexcept { return data() + size_; }
  const std::int64_t* begin() const noexcept { return data(); }
  const std::int64_t* end() const noexcept { return data() + size_; }
  ///@}
  ///@{
  /// Throw IndexError for an invalid position; data() is not checked.
  std::int64_t& operator[](std::size_t i) { return data()[checked(i)]; }
  std::int64_t operator[](std::size_t i) const { return data()[checked(i)]; }
  std::int64_t& back() { return (*this)[size_ - 1]; }
  std::int64_t back() const { return (*this)[size_ - 1]; }
  ///@}

  /// Adds an entry. Throws ShapeError if there are max_rank.
  void push_back(std::int64_t value) {
    if (size_ < inline_capacity) [[likely]]
      storage_.values[size_++] = value;
    else
      insert(size_, value);
  }
  /// Drops the last entry, which must be there.
  void pop_back() { erase(size_ - 1); }
  /// Before position `at`, which is at most size().
  void insert(std::size_t at, std::int64_t value);
  /// Drops the entry at `at`, which must be there.
  void erase(std::size_t at);
  /// Keeps the first `size`, which is at most size().
  void truncate(std::size_t size);
  void clear() noexcept { *this = Dims(); }  ///< drops all entries
  /// `rank` times `value`, whatever was there.
  void assign(std::size_t rank, std::int64_t value) {
    if (on_heap() || rank > inline_capacity) [[unlikely]]
      clear();
    allocate(rank);
    for (std::int64_t& d : *this) d = value;
  }

  /// Whether all entries are equal.
  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.data()[i] != b.data()[i]) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t inline_capacity = 8;
  /// `heap` is the live member when size_ > inline_capacity, and then has room for max_rank.
  union Storage {
    std::int64_t values[inline_capacity] = {};
    std::int64_t* heap;
  };

  std::size_t checked(std::size_t i) const {
    if (i >= size_) [[unlikely]]
      detail::throw_no_axis(i, size_);
    return i;
  }
  bool on_heap() const noexcept { return size_ > inline_capacity; }
  void allocate(std::size_t size) {
    if (size > inline_capacity) [[unlikely]]
      allocate_heap(size);
    size_ = size;
  }
  void allocate_heap(std::size_t size);
  void copy_heap(const Dims& other);

  Storage storage_;
  std::size_t size_ = 0;
};

using Shape = Dims;    ///< extents of the axes
using Strides = Dims;  ///< from one element to the next along each axis, in bytes
using Axes = Dims;     ///< numbers of axes; negative ones count from the end

///@{
/// As Python writes a tuple: "()", "(3,)", "(3, 4)".
std::string to_string(const Dims& dims);
std::ostream& operator<<(std::ostream& out, const Dims& dims);
///@}

///@{
/// Throw SizeOverflow.
constexpr std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    detail::throw_mul_overflow(a, b);
  return product;
}
constexpr std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    detail::throw_add_overflow(a, b);
  return sum;
}
///@}

/// The product of the extents; 0 if one of them is 0, however large the others. Throws ShapeError
/// for a negative extent, SizeOverflow if the product does not fit.
std::int64_t element_count(const Shape& shape);
/// element_count times `itemsize`, under the same rules.
std::int64_t byte_count(const Shape& shape, std::size_t itemsize);

}  // namespace quarry
