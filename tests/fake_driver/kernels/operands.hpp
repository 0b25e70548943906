// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstdint>
#include <vector>

/// The operands of a strided kernel, and where their elements lie.
namespace quarry::fake {

/// From `begin` to `end`, without it.
struct Bytes {
  std::uint64_t begin, end;
};
/// Those of the elements of `size` bytes whose first index is at `from`, in 64 bits; reach(axis) is
/// how far the last index of each of so many axes is from the first.
template <class F>
Bytes bytes_reached(std::uint64_t from, std::uint32_t size, int axes, const F& reach) {
  Bytes bytes{from, from + size};
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t far = reach(axis);
    (far < 0 ? bytes.begin : bytes.end) += static_cast<std::uint64_t>(far);
  }
  return bytes;
}

class Operands {
 public:
  struct Source {
    int device, count, rank;
    const std::uint64_t *pointers, *shape, *strides;
    const std::uint32_t* itemsize;
    bool has_wide_index;
    bool has_output;  ///< false: operand 0 is not accessed
    int output_rank;  ///< axes along which operand 0 moves
  };
  explicit Operands(const Source& source);

  /// Whether every element lies in live memory of the device.
  bool are_inside() const { return are_inside_; }
  int count() const { return source_.count; }
  std::int64_t extent(int axis) const;
  std::int64_t stride(int operand, int axis) const;
  /// How many elements of the innermost axis may be reached by a stride: all, unless offsets wrap.
  std::int64_t run(std::int64_t n) const { return wraps_ ? 1 : n; }

  using Offsets = std::vector<std::int64_t>;
  Offsets start() const { return Offsets(static_cast<std::size_t>(source_.count), 0); }
  /// Adds the offsets of position `index` (in C order) in the axes [first, last).
  void advance(Offsets& offsets, std::int64_t index, int first, int last) const;
  /// Host addresses at these offsets; false when one is outside, which only wrapped offsets can be.
  bool resolve(const Offsets& offsets, std::vector<char*>& addresses) const;

 private:
  bool is_used(int operand) const { return operand > 0 || source_.has_output; }
  bool place(int operand);

  Source source_;
  bool wraps_ = false, are_inside_ = true;
  std::vector<char*> base_;
};

}  // namespace quarry::fake
