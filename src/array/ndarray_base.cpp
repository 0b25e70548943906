// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/host_values.hpp>
#include <quarry/array/ndarray_base.hpp>

#include <fmt/format.h>

#include <ostream>
#include <sstream>
#include <utility>

#include "array/format.hpp"
#include "base/dense_like.hpp"
#include "base/small_array.hpp"

namespace quarry {

Stream detail::stream_of(const ArrayOptions& options) {
  if (options.stream) {
    require<LogicError>(!options.device || *options.device == options.stream->device(), [&] {
      return fmt::format("an array on {} with a stream of {}", to_string(*options.device),
                         to_string(options.stream->device()));
    });
    return *options.stream;
  }
  const Device device = options.device.value_or(Device());
  const Stream* const guarded = guarded_stream(device);
  return guarded ? *guarded : default_stream(device);
}

DeviceNDArrayBase::DeviceNDArrayBase(const DeviceNDArrayBase&) = default;
DeviceNDArrayBase& DeviceNDArrayBase::operator=(const DeviceNDArrayBase&) = default;
DeviceNDArrayBase::~DeviceNDArrayBase() = default;

DeviceNDArrayBase::DeviceNDArrayBase(DeviceNDArrayBase&& other) noexcept
    : layout_(std::move(other.layout_)),
      data_(other.data_),
      dtype_(other.dtype_),
      read_only_(other.read_only_),
      buffer_(std::move(other.buffer_)),
      bound_(std::move(other.bound_)) {
  other.make_empty();
}

DeviceNDArrayBase& DeviceNDArrayBase::operator=(DeviceNDArrayBase&& other) noexcept {
  if (this == &other) return *this;
  layout_ = std::move(other.layout_);
  data_ = other.data_;
  dtype_ = other.dtype_;
  read_only_ = other.read_only_;
  buffer_ = std::move(other.buffer_);
  bound_ = std::move(other.bound_);
  other.make_empty();
  return *this;
}

void DeviceNDArrayBase::make_empty() noexcept {
  layout_.shape.assign(1, 0);
  layout_.strides.assign(1, static_cast<std::int64_t>(dtype_.itemsize()));
  data_ = nullptr;
}

DeviceNDArrayBase::DeviceNDArrayBase(const DeviceNDArrayBase& of, const View& view)
    : layout_(view.layout),
      data_(of.data_ + view.offset),
      dtype_(of.dtype_),
      read_only_(of.read_only_),
      buffer_(of.buffer()),
      bound_(of.bound_) {}

DeviceNDArrayBase::DeviceNDArrayBase(DType dtype, const Shape& shape, const ArrayOptions& options)
    : DeviceNDArrayBase(dtype,
                        detail::new_layout(shape, dtype.itemsize(), options.order, options.strides),
                        detail::stream_of(options)) {}

DeviceNDArrayBase::DeviceNDArrayBase(DType dtype, const Shape& shape, const Stream& stream,
                                     Order order)
    : DeviceNDArrayBase(dtype, {shape, dense_strides(shape, dtype.itemsize(), order)}, stream) {}

DeviceNDArrayBase::DeviceNDArrayBase(DType dtype, Layout layout, const Stream& stream)
    : layout_(std::move(layout)), data_(nullptr), dtype_(dtype) {
  const ByteBounds bounds = byte_bounds(layout_, dtype.itemsize());  // checks before it allocates
  buffer_ = Buffer::allocate(static_cast<std::size_t>(bounds.past - bounds.lowest), stream);
  data_ = buffer_->address() - bounds.lowest;
}

Layout detail::ComputedFrom::layout(std::size_t itemsize) const {
  SmallArray<const Layout*> operands(count);
  for (int k = 0; k < count; ++k) operands[k] = &arrays[k]->layout();
  return dense_like(shape, operands, itemsize, is_reduced);
}

DeviceNDArrayBase::DeviceNDArrayBase(DType dtype, const detail::ComputedFrom& from)
    : DeviceNDArrayBase(dtype, from.layout(dtype.itemsize()), detail::stream_for(*from.arrays[0])) {
}

void DeviceNDArrayBase::throw_moved_from() { throw LogicError("the array was moved from"); }
void DeviceNDArrayBase::throw_no_buffer() {
  throw LogicError("an array without a buffer: its memory has no owner");
}

std::int64_t DeviceNDArrayBase::len() const {
  require<IndexError>(ndim() > 0, "len() of a 0-d array");
  return layout_.shape[0];
}

namespace detail {

Layout new_layout(const Shape& shape, std::size_t itemsize, std::optional<Order> order,
                  const Strides& strides) {
  if (strides.empty()) return {shape, dense_strides(shape, itemsize, order.value_or(Order::c))};
  require<LogicError>(!order, "a new array has an order or strides, not both");
  require<ShapeError>(strides.size() == shape.size(), [&] {
    return fmt::format("strides {} for an array of shape {}", to_string(strides), to_string(shape));
  });
  return {shape, strides};
}

const Stream& stream_for(const DeviceNDArrayBase& array, const Stream* given) {
  if (given) {
    require<LogicError>(given->device() == array.device(), [&] {
      return fmt::format("a stream of {} for an array on {}", to_string(given->device()),
                         to_string(array.device()));
    });
    return *given;
  }
  const Stream* const guarded = guarded_stream(array.device());
  return guarded ? *guarded : array.stream();
}

namespace {
bool is_dense(const DeviceNDArrayBase& array, Order order) {
  return order == Order::f ? array.is_f_contiguous() : array.is_c_contiguous();
}
}  // namespace

ReshapedLayout plan_reshape(const DeviceNDArrayBase& array, const Shape& shape, Order order) {
  Shape to = infer_shape(shape, array.size());
  const std::size_t itemsize = array.dtype().itemsize();
  const bool is_view = is_dense(array, order);
  if (!is_view) {
    if (auto strides = reshape_strides(array.layout(), itemsize, to, order)) {
      return {{std::move(to), std::move(*strides)}, false};
    }
  }
  Strides dense = dense_strides(to, itemsize, order);
  return {{std::move(to), std::move(dense)}, !is_view};
}

ReshapedLayout plan_ravel(const DeviceNDArrayBase& array, Order order) {
  const Shape flat{array.size()};
  return {{flat, c_strides(flat, array.dtype().itemsize())}, !is_dense(array, order)};
}

void require_rank(const Shape& shape, std::size_t rank) {
  require<ShapeError>(shape.size() == rank, [&] {
    return fmt::format("an array of shape {} for a container of {} {}", to_string(shape), rank,
                       rank == 1 ? "axis" : "axes");
  });
}

void require_shape(const Shape& shape, const Shape& fixed) {
  require<ShapeError>(shape == fixed, [&] {
    return fmt::format("an array of shape {} for a container of the fixed shape {}",
                       to_string(shape), to_string(fixed));
  });
}

void read_item(const DeviceNDArrayBase& array, void* to) {
  require<ShapeError>(array.size() == 1, [&] {
    return fmt::format("item() of an array of shape {}; it must have one element",
                       to_string(array.shape()));
  });
  const Layout layout{array.shape(), Strides::filled(array.ndim(), 0)};
  download({static_cast<std::byte*>(to), array.dtype(), layout}, array.ref(), stream_for(array),
           true);
}
void throw_wrong_dtype(DType want, DType have) {
  throw DTypeError(
      fmt::format("an array of {} taken for one of {}", to_string(have), to_string(want)));
}

void throw_read_only(const DeviceNDArrayBase& array) {
  throw LogicError(
      fmt::format("a read-only array of shape {} and {} taken for one that can be written; copy() "
                  "makes one",
                  to_string(array.shape()), to_string(array.dtype())));
}

void throw_out_of_range(const std::string& value, DType type) {
  throw DTypeError(fmt::format("{} does not fit in {}", value, to_string(type)));
}

void require_inside(const DeviceNDArrayBase& array) {
  const Layout& layout = array.layout();
  require<ShapeError>(layout.shape.size() == layout.strides.size(), [&] {
    return fmt::format("{} extents with {} strides", layout.shape.size(), layout.strides.size());
  });
  const ByteBounds bounds = byte_bounds(layout, array.dtype().itemsize());
  const Buffer& buffer = *array.buffer();
  const std::int64_t first = bounds.past == 0 ? 0 : array.address() - buffer.address();
  const auto bytes = static_cast<std::int64_t>(buffer.bytes());
  require<IndexError>(
      checked_add(first, bounds.lowest) >= 0 && checked_add(first, bounds.past) <= bytes, [&] {
        return fmt::format("a view of shape {} and strides {} at byte {} of a buffer of {} bytes",
                           to_string(layout.shape), to_string(layout.strides), first, bytes);
      });
}

std::vector<std::int64_t> split_points(const Layout& layout, std::int64_t section) {
  require<ShapeError>(layout.rank() == 1, [&] {
    return fmt::format("split of an array of shape {}; it must have one axis",
                       to_string(layout.shape));
  });
  require<ShapeError>(section > 0, [&] { return fmt::format("split: section size {}", section); });
  std::vector<std::int64_t> points;
  for (std::int64_t at = 0; at < layout.shape[0]; at += std::min(section, layout.shape[0] - at)) {
    points.push_back(at);
  }
  return points;
}

namespace {

/// The elements that printing shows of one axis, as ranges of it.
std::vector<Range> shown(const Corner& corner, std::int64_t extent) {
  std::vector<Range> ranges{range(0, corner.leading)};
  if (corner.trailing > 0) ranges.push_back(range(extent - corner.trailing, extent));
  return ranges;
}

/// Copies the corners of `from` to the same places of `to`, axis by axis.
void download_corners(const HostRef& to, const DeviceRef& from, const std::vector<Corner>& all,
                      std::size_t axis, const Stream& stream) {
  if (axis == all.size()) return download(to, from, stream, true);
  const std::int64_t extent = from.layout.shape[axis];
  const std::int64_t packed = all[axis].leading + all[axis].trailing;
  std::vector<Index> entries(axis + 1, Index(quarry::all));
  for (const Range& part : shown(all[axis], extent)) {
    const bool tail = part.start.value != 0;
    entries[axis] = part;
    const View source = index(from.layout, entries);
    entries[axis] = tail ? range(packed - all[axis].trailing, packed) : range(0, all[axis].leading);
    const View target = index(to.layout, entries);
    download_corners({to.data + target.offset, to.dtype, target.layout},
                     {from.data + source.offset, from.dtype, source.layout, from.buffer}, all,
                     axis + 1, stream);
  }
}

}  // namespace

void print(std::ostream& out, const DeviceNDArrayBase& array) {
  const PrintOptions options;
  const std::vector<Corner> all = corners(array.shape(), options);
  const Shape part = shape_of(all);
  const std::size_t itemsize = array.dtype().itemsize();
  const Layout layout{part, c_strides(part, itemsize)};
  std::vector<std::byte> memory(static_cast<std::size_t>(byte_count(part, itemsize)));
  if (!memory.empty()) {
    download_corners({memory.data(), array.dtype(), layout}, array.ref(), all, 0,
                     stream_for(array));
  }
  out << format_corners(array.dtype(), memory.data(), layout, array.shape(), options);
}

}  // namespace detail

std::string to_string(const DeviceNDArrayBase& array) {
  std::ostringstream text;
  text << array;
  return text.str();
}

}  // namespace quarry
