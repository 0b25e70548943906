// SPDX-License-Identifier: BSD-3-Clause
#include "expr/bands.hpp"

#include <quarry/base/overlap.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "expr/aligned.hpp"

namespace quarry::expr {
namespace {

/// A part of an array along one axis.
struct Part {
  const std::byte* data;
  Layout layout;
};

/// Positions [first, first + count) along `axis`; an array that does not move along it is whole.
Part part_of(const std::byte* data, const Layout& layout, std::size_t axis, std::int64_t first,
             std::int64_t count) {
  Part part{data, layout};
  if (layout.shape[axis] == 1) return part;
  part.data += first * layout.strides[axis];
  part.layout.shape[axis] = count;
  return part;
}

/// The axis along which the output's elements lie farthest apart.
std::size_t outermost_axis(const Layout& layout) {
  std::size_t axis = 0;
  for (std::size_t d = 1; d < layout.rank(); ++d) {
    if (std::abs(layout.strides[d]) > std::abs(layout.strides[axis])) axis = d;
  }
  return axis;
}

/// The bands of the output and of an input move alike, so what holds for the first band and the
/// rest after the next one holds for every band.
bool is_safe(const DeviceNDArrayBase& out, const DeviceNDArrayBase& in, const Bands& bands) {
  const Layout whole = broadcast_to(in.layout(), out.shape());
  if (whole.strides[bands.axis] != out.strides()[bands.axis]) return false;
  const std::int64_t extent = out.shape()[bands.axis], after = 2 * bands.rows;
  if (after >= extent) return true;
  const Part first = part_of(out.device_pointer(), out.layout(), bands.axis, 0, bands.rows);
  const Part rest = part_of(in.device_pointer(), whole, bands.axis, after, extent - after);
  return overlap(first.data, first.layout, out.dtype().itemsize(), rest.data, rest.layout,
                 in.dtype().itemsize()) == Overlap::disjoint;
}

}  // namespace

Temporary temporary_like(const std::byte* like, const Layout& layout, DType dtype,
                         const Stream& stream) {
  constexpr std::size_t line = 128;
  const auto bytes = static_cast<std::size_t>(byte_count(layout.shape, dtype.itemsize()));
  const ByteBounds bounds = byte_bounds(layout, dtype.itemsize());
  const auto reach = static_cast<std::size_t>(bounds.past - bounds.lowest);
  if (reach / 2 > bytes || !is_aligned(like, layout, dtype)) {
    auto buffer = Buffer::allocate(bytes, stream);
    std::byte* const data = buffer->data();
    return {std::move(buffer), data, {layout.shape, c_strides(layout.shape, dtype.itemsize())}};
  }
  const std::size_t before = reinterpret_cast<std::uintptr_t>(like + bounds.lowest) % line;
  auto buffer = Buffer::allocate(before + reach, stream);
  std::byte* const data = buffer->data() + before - bounds.lowest;
  return {std::move(buffer), data, layout};
}

std::optional<Bands> plan_bands(const DeviceNDArrayBase& out,
                                const DeviceNDArrayBase* const* arrays,
                                std::span<const bool> conflicting, std::int64_t band_bytes) {
  const auto bytes = static_cast<std::int64_t>(out.nbytes());
  if (bytes < 3 * band_bytes) return std::nullopt;
  const std::size_t axis = outermost_axis(out.layout());
  const std::int64_t extent = out.shape()[axis], count = (bytes + band_bytes - 1) / band_bytes;
  const Bands bands{axis, (extent + count - 1) / count};
  for (std::size_t k = 0; k < conflicting.size(); ++k) {
    if (conflicting[k] && !is_safe(out, *arrays[k], bands)) return std::nullopt;
  }
  return bands;
}

void evaluate_in_bands(const Bands& bands, const kernels::program& program,
                       const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays,
                       const runtime::Scalar* scalars, const Stream& stream) {
  const std::int64_t extent = out.shape()[bands.axis];
  std::vector<Layout> wholes;
  for (int k = 0; k < program.inputs; ++k) {
    wholes.push_back(broadcast_to(arrays[k]->layout(), out.shape()));
  }
  const auto band = [&](std::int64_t first) {
    return part_of(out.device_pointer(), out.layout(), bands.axis, first,
                   std::min(bands.rows, extent - first));
  };
  const auto write_back = [&](std::int64_t first, const Temporary& from) {
    const Part to = band(first);
    Layout layout = from.layout;
    layout.shape = to.layout.shape;
    copy_elements({const_cast<std::byte*>(to.data), out.dtype(), to.layout, out.buffer().get()},
                  {from.data, out.dtype(), layout, from.buffer.get()}, stream);
  };
  const Part one = band(0);
  const std::array temporaries{temporary_like(one.data, one.layout, out.dtype(), stream),
                               temporary_like(one.data, one.layout, out.dtype(), stream)};
  std::size_t turn = 0;
  for (std::int64_t first = 0; first < extent; first += bands.rows, turn ^= 1) {
    const std::int64_t count = std::min(bands.rows, extent - first);
    Layout into = temporaries[turn].layout;
    into.shape[bands.axis] = count;
    std::vector<Part> parts;
    for (int k = 0; k < program.inputs; ++k) {
      parts.push_back(part_of(arrays[k]->device_pointer(), wholes[static_cast<std::size_t>(k)],
                              bands.axis, first, count));
    }
    std::vector<runtime::Operand> operands{{temporaries[turn].data, &into}};
    for (const Part& part : parts) operands.push_back({part.data, &part.layout});
    runtime::launch_map(program, operands, scalars, stream);
    if (first > 0) write_back(first - bands.rows, temporaries[turn ^ 1]);
  }
  write_back((extent - 1) / bands.rows * bands.rows, temporaries[turn ^ 1]);
}

}  // namespace quarry::expr
