// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/view.hpp>
#include <quarry/base/dtype.hpp>
#include <quarry/base/error.hpp>
#include <quarry/memory/transfer.hpp>

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quarry {

/// Stream, device and order of a new array. The default stream is the device's current one.
struct ArrayOptions {
  std::optional<Stream> stream = std::nullopt;  ///< the current one of the device if none
  std::optional<Device> device = std::nullopt;  ///< the stream's, or the current one, if none
  /// Without one: C, or for an array like another the order of that one's axes (NumPy's K).
  std::optional<Order> order = std::nullopt;
  /// In bytes, instead of an order; the elements may have gaps between them.
  Strides strides = {};
};

class DeviceNDArrayBase;

namespace detail {
/// What a new array is computed from: one or more arrays that broadcast to `shape`, of which some
/// axes may be reduced. Its axes have the order of theirs, as in NumPy (order='K').
struct ComputedFrom {
  const Shape& shape;
  const DeviceNDArrayBase* const* arrays;
  int count;
  const bool* is_reduced = nullptr;  ///< for each axis of `shape`

  Layout layout(std::size_t itemsize) const;  ///< of new elements; SizeOverflow if they do not fit
};
}  // namespace detail

/// An array without its element type. A handle: copying it shares the memory. A moved-from array
/// has shape (0,); members that need memory, device or stream throw LogicError.
class DeviceNDArrayBase {
 public:
  const Shape& shape() const { return layout_.shape; }  ///< extents of the axes; () for a 0-d array
  const Strides& strides() const { return layout_.strides; }          ///< in bytes
  const Layout& layout() const { return layout_; }                    ///< shape and strides
  DType dtype() const { return dtype_; }                              ///< of the elements
  std::int64_t size() const { return element_count(layout_.shape); }  ///< number of elements
  /// Bytes of the elements; a view may span more, or fewer. Throws SizeOverflow if they do not fit.
  std::size_t nbytes() const {
    return static_cast<std::size_t>(byte_count(layout_.shape, dtype_.itemsize()));
  }
  std::size_t ndim() const { return layout_.rank(); }  ///< number of axes
  /// The extent of axis 0. Throws IndexError for a 0-d array.
  std::int64_t len() const;
  bool empty() const { return size() == 0; }  ///< whether there are no elements
  /// Whether its elements may only be read, as through DeviceNDArray<const T>.
  bool is_read_only() const { return read_only_; }
  Device device() const { return buffer()->device(); }  ///< that holds the memory
  /// The stream the array is bound to: operations without another stream are queued there.
  const Stream& stream() const { return bound_ ? *bound_ : buffer()->stream(); }
  ///@{
  /// Without gaps, the last index (C) or the first (F) running fastest.
  bool is_c_contiguous() const { return quarry::is_c_contiguous(layout_, dtype_.itemsize()); }
  bool is_f_contiguous() const { return quarry::is_f_contiguous(layout_, dtype_.itemsize()); }
  ///@}
  /// Address of element 0 on the device. The memory is no longer private: see Buffer.
  std::byte* device_pointer() const {
    if (buffer_) buffer_->data();
    return data_;
  }
  /// The same, for the library itself.
  std::byte* address() const { return data_; }
  /// The memory of the array. Throws LogicError for a moved-from array.
  const std::shared_ptr<Buffer>& buffer() const {
    if (!buffer_) [[unlikely]]
      throw_moved_from();
    return buffer_;
  }
  /// For the functions of memory/transfer.hpp.
  DeviceRef ref() const { return {data_, dtype_, layout_, buffer().get()}; }

 protected:
  ///@{
  /// A copy shares the memory; a moved-from array has shape (0,). Not inline: expressions consist
  /// of these, and would be several times as much code to compile.
  DeviceNDArrayBase(const DeviceNDArrayBase& other);
  DeviceNDArrayBase& operator=(const DeviceNDArrayBase& other);
  DeviceNDArrayBase(DeviceNDArrayBase&& other) noexcept;
  DeviceNDArrayBase& operator=(DeviceNDArrayBase&& other) noexcept;
  ///@}
  ~DeviceNDArrayBase();

  /// Throws LogicError without a buffer.
  DeviceNDArrayBase(DType dtype, Layout layout, std::byte* data, std::shared_ptr<Buffer> buffer)
      : layout_(std::move(layout)), data_(data), dtype_(dtype), buffer_(std::move(buffer)) {
    if (!buffer_) [[unlikely]]
      throw_no_buffer();
  }
  /// A view of elements of `of`, bound to the same stream. Throws LogicError if it was moved from.
  DeviceNDArrayBase(const DeviceNDArrayBase& of, const View& view);
  ///@{
  /// Uninitialised memory.
  DeviceNDArrayBase(DType dtype, const Shape& shape, const ArrayOptions& options);
  DeviceNDArrayBase(DType dtype, const Shape& shape, const Stream& stream, Order order);
  DeviceNDArrayBase(DType dtype, Layout layout, const Stream& stream);
  DeviceNDArrayBase(DType dtype, const detail::ComputedFrom& from);
  ///@}

  ///@{
  /// See the members of these names.
  Layout layout_;
  std::byte* data_;
  DType dtype_;
  bool read_only_ = false;
  std::shared_ptr<Buffer> buffer_;
  std::shared_ptr<const Stream> bound_;
  ///@}

 private:
  void make_empty() noexcept;
  [[noreturn]] static void throw_moved_from();
  [[noreturn]] static void throw_no_buffer();
};

namespace detail {

/// The stream of an operation on `array`: the given one, else the StreamGuard's, else the array's.
/// Throws LogicError if it is a stream of another device.
const Stream& stream_for(const DeviceNDArrayBase& array, const Stream* given = nullptr);
/// The stream that the options select: the given one, else the guard's, else the device's default
/// stream. Throws LogicError if stream and device do not agree.
Stream stream_of(const ArrayOptions& options);
/// The layout of a new array. Throws ShapeError for strides of another rank, LogicError for an
/// order and strides.
Layout new_layout(const Shape& shape, std::size_t itemsize, std::optional<Order> order,
                  const Strides& strides);
/// Memory and layout of an array like `array` in C order (or the order of its axes for
/// `keep_order`).
struct ReshapedLayout {
  Layout layout;
  bool copied;
};
ReshapedLayout plan_reshape(const DeviceNDArrayBase& array, const Shape& shape, Order order);
/// NumPy's ravel: a view only of an array that is contiguous in `order`.
ReshapedLayout plan_ravel(const DeviceNDArrayBase& array, Order order);
void print(std::ostream& out, const DeviceNDArrayBase& array);
/// Waits for the only element. Throws ShapeError if there are more or none.
void read_item(const DeviceNDArrayBase& array, void* to);
[[noreturn]] void throw_wrong_dtype(DType want, DType have);
[[noreturn]] void throw_read_only(const DeviceNDArrayBase& array);
std::vector<std::int64_t> split_points(const Layout& layout, std::int64_t section);
void require_inside(const DeviceNDArrayBase& array);

}  // namespace detail

/// Prints as NumPy does, large arrays with their corners only; waits for the elements it needs.
inline std::ostream& operator<<(std::ostream& out, const DeviceNDArrayBase& array) {
  return detail::print(out, array), out;
}
/// The same text.
std::string to_string(const DeviceNDArrayBase& array);

}  // namespace quarry
