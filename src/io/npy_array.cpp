// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "memory/host/host_array.hpp"

namespace quarry::npy {

namespace {

constexpr std::align_val_t block_alignment{64};

std::optional<Order> dense_order(const HostRef& array) {
  if (is_c_contiguous(array.layout, array.dtype.itemsize())) return Order::c;
  if (is_f_contiguous(array.layout, array.dtype.itemsize())) return Order::f;
  return std::nullopt;
}

/// In C order, through a buffer of some rows at a time.
void write_rows(Sink& file, const HostRef& array) {
  constexpr std::int64_t buffer_size = 4 << 20;
  Layout rows = array.layout;
  const std::int64_t count = rows.shape[0];
  const std::int64_t row_size = byte_count(rows.shape, array.dtype.itemsize()) / count;
  const std::int64_t step = std::clamp<std::int64_t>(buffer_size / row_size, 1, count);
  const Block buffer = allocate(std::size_t(step * row_size), "save_npy");
  for (std::int64_t at = 0; at < count; at += step) {
    rows.shape[0] = std::min(step, count - at);
    const Layout dense{rows.shape, c_strides(rows.shape, array.dtype.itemsize())};
    quarry::detail::copy_host({buffer.get(), array.dtype, dense},
                              {array.data + at * rows.strides[0], array.dtype, rows});
    file.write({buffer.get(), std::size_t(rows.shape[0] * row_size)});
  }
}

std::string wrong_elements(const std::string& path, const Descr& descr, DType expected) {
  const std::string held = to_string(descr);
  if (!expected.is_record())
    return fmt::format("{}: holds {}, not {}", path, held, expected.name());
  const std::string wanted =
      expected.fields().empty() ? "without QUARRY_RECORD" : quarry::descr(expected);
  return fmt::format("{}: holds {}, not {} {}", path, held, to_string(expected), wanted);
}

}  // namespace

Block allocate(std::size_t size, const std::string& what) {
  auto* block = static_cast<std::byte*>(::operator new(size, block_alignment, std::nothrow));
  require<MemoryError>(block != nullptr,
                       [&] { return fmt::format("{}: no host memory for {} bytes", what, size); });
  return Block(block);
}

void require_elements(const Reader& file, DType expected) {
  require<DTypeError>(has_elements(file.header().descr, expected),
                      [&] { return wrong_elements(file.name(), file.header().descr, expected); });
}

quarry::detail::NpyContents read_array(Reader& file, DType expected) {
  require_elements(file, expected);
  const Header& header = file.header();
  const Order order = header.fortran_order ? Order::f : Order::c;
  quarry::detail::NpyContents contents{{header.shape, dense_strides(header.shape, 1, order)},
                                       allocate(header.data_size, file.name())};
  file.read({contents.data.get(), header.data_size});
  file.verify();
  if (has_layout(header.descr, expected)) return contents;

  const auto bytes = std::size_t(byte_count(header.shape, expected.itemsize()));
  Block packed = std::exchange(contents.data, allocate(bytes, file.name()));
  if (bytes > 0) std::memset(contents.data.get(), 0, bytes);  // padding
  repack(header.descr, expected, {packed.get(), header.data_size}, contents.data.get());
  return contents;
}

void write_elements(Sink& file, const HostRef& array) {
  const std::int64_t bytes = byte_count(array.layout.shape, array.dtype.itemsize());
  if (bytes == 0) return;
  memory::require_address(array);
  if (!is_c_contiguous(array.layout, array.dtype.itemsize())) return write_rows(file, array);
  file.write({array.data, std::size_t(bytes)});
}

void write_array(Sink& file, const HostRef& array) {
  if (element_count(array.layout.shape) > 0) memory::require_address(array);
  const std::optional<Order> order = dense_order(array);
  file.write(make_header(array.dtype, order.value_or(Order::c), array.layout.shape));
  if (!order) return write_rows(file, array);
  const std::int64_t bytes = byte_count(array.layout.shape, array.dtype.itemsize());
  file.write({array.data, std::size_t(bytes)});
}

namespace {

/// In the order of the array if that is Fortran's, else C.
Layout dense_like(const DeviceNDArrayBase& array) {
  const bool fortran = array.is_f_contiguous() && !array.is_c_contiguous();
  return {array.shape(),
          dense_strides(array.shape(), array.dtype().itemsize(), fortran ? Order::f : Order::c)};
}

}  // namespace

HostImage::HostImage(const DeviceNDArrayBase& array, const std::string& what)
    : block_(allocate(array.nbytes(), what)), ref_{block_.get(), array.dtype(), dense_like(array)} {
  download(ref_, array.ref(), quarry::detail::stream_for(array), true);
}

}  // namespace quarry::npy

namespace quarry::detail {

void FreeHostBlock::operator()(std::byte* block) const noexcept {
  ::operator delete(block, npy::block_alignment);
}

void copy_host(const HostRef& to, const HostRef& from) {
  if (element_count(from.layout.shape) > 0) memory::require_address(from);
  Shape shape = from.layout.shape;
  Strides to_strides = to.layout.strides;
  Strides from_strides = from.layout.strides;
  Strides* const both[] = {&to_strides, &from_strides};
  collapse(shape, both);
  const std::size_t itemsize = to.dtype.itemsize();
  const auto unit = std::int64_t(itemsize);
  std::size_t run = itemsize;  // bytes that lie together on both sides
  if (!shape.empty() && to_strides.back() == unit && from_strides.back() == unit) {
    run *= std::size_t(shape.back());
    shape.pop_back();
  }
  const std::int64_t count = run == 0 ? 0 : element_count(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t to_offset = 0;
    std::int64_t from_offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      to_offset += index[axis] * to_strides[axis];
      from_offset += index[axis] * from_strides[axis];
    }
    std::memcpy(to.data + to_offset, from.data + from_offset, run);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace quarry::detail
