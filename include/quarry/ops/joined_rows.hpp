// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/kernels/join_parts.hpp>

#include <array>
#include <memory>
#include <vector>

/// Joins along short rows. A copy of each part would write pieces of the lines of memory.
namespace quarry::expr {

/// An array of T, not an expression.
template <class T, class A>
inline constexpr bool is_array_of = false;
template <class T, class V>
inline constexpr bool is_array_of<T, DeviceNDArray<V>> = std::same_as<std::remove_const_t<V>, T>;

/// A new array, all of which one kernel writes: its rows, along `axis` and those behind it, consist
/// of parts of the rows of others. What is added is the next part.
class JoinedRows {
 public:
  /// Whether an array has several rows.
  static bool has_rows(const DeviceNDArrayBase& result, std::size_t axis);

  JoinedRows(const DeviceNDArrayBase& result, std::size_t axis);

  ///@{
  /// An axis before the rows': its indices are moved by `shift`, and come in again at its other
  /// end; or it has what the parts have from `before` on, the rest is filled.
  void roll(std::size_t axis, std::int64_t shift);
  void pad(std::size_t axis, std::int64_t before, std::int64_t size, const void* value_before,
           const void* value_behind);
  ///@}
  /// [first, first + count) along the axis of an array with as many axes as the result, the same
  /// elements, and the same extents behind the axis.
  void add(const DeviceRef& from, std::int64_t first, std::int64_t count);
  void fill(std::int64_t count, const void* value);

  /// Queues the kernel in the stream of the result; true. False, and nothing is queued, where
  /// copies of the parts are as fast or this cannot be done at once: parts are long, there are too
  /// many of them, their rows are not dense, or those of another device.
  bool write();

 private:
  struct Axis {
    std::int64_t extent, shift, size;
    int value = -1;  ///< the number of that before; -1: none is filled
    bool is_plain() const { return shift == 0 && size == extent; }
  };
  struct Part {
    std::int64_t begin, end;    ///< bytes of a row
    int value = -1;             ///< the number of that which it is filled with; -1: none
    std::byte* data = nullptr;  ///< its first byte in the first row
    Strides pitch = {};         ///< along the axes before the rows'
    Buffer* buffer = nullptr;
  };
  void add_value(const void* value);
  bool are_worth_it() const;
  void merge_axes();
  std::int64_t word_size() const;
  std::shared_ptr<kernels::join_parts> parts_of_words(std::int64_t word) const;

  const DeviceNDArrayBase& result_;
  std::size_t axis_;
  std::int64_t itemsize_, inner_;  ///< bytes of an element, and of one index along the axis
  std::int64_t end_ = 0;           ///< of what has been added, in bytes
  bool can_be_joined_ = true;
  std::vector<Axis> axes_;
  std::vector<Part> parts_;
  std::vector<std::array<kernels::u64, 2>> values_;
};

///@{
/// The results of roll and of tile. False as JoinedRows::write; for tile also unless it is along
/// one axis.
bool write_rolled(const DeviceNDArrayBase& result, const DeviceRef& source, const Shape& offsets);
bool write_tiled(const DeviceNDArrayBase& result, const DeviceRef& source, const Shape& counts);
///@}

}  // namespace quarry::expr
