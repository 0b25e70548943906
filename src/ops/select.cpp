// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/overlap.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/ops/indexing.hpp>
#include <quarry/ops/padded.hpp>
#include <quarry/ops/select.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>

#include "expr/host_word.hpp"
#include "expr/kernel_inputs.hpp"
#include "expr/numbers.hpp"
#include "memory/write_log.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {

void require_mask(const Shape& mask, const Shape& array) {
  require<IndexError>(mask.size() <= array.size(), [&] {
    return fmt::format("a mask of shape {} has more axes than the array, of shape {}",
                       to_string(mask), to_string(array));
  });
  for (std::size_t d = 0; d < mask.size(); ++d) require_mask_extent(mask[d], array[d], d);
}

View without_elements(const Layout& array, const Shape& mask) {
  std::vector<Index> entries;
  for (const std::int64_t extent : mask) entries.push_back(extent == 0 ? Index(range(0, 0)) : all);
  return index(array, entries);
}

bool is_counted_first(std::size_t bytes, std::size_t free) {
  constexpr std::size_t always_there = std::size_t{256} << 20;
  return bytes > always_there && bytes > free / 8;
}

namespace {

constexpr std::size_t kept_whole = 1 << 16;  // fewer bytes are not worth a copy

/// Queues a selection over `shape`, and its number of elements into `kept`. Without memory for
/// `values` it only counts; the inputs behind the first `arrays` are not read.
void launch(const SelectCall& call, const Shape& shape, const DeviceNDArray<std::int64_t>& kept,
            const runtime::Operand& values, int arrays, const Stream& stream) {
  const KernelInputs inputs(*call.arrays[0], call.arrays, call.program.inputs, stream);
  const runtime::Operand count{kept.address(), nullptr};
  const runtime::Operand outputs[] = {count, values};
  auto operands = operands_of(outputs, inputs.arrays(), call.program.inputs);
  for (std::size_t k = 2 + static_cast<std::size_t>(arrays); k < operands.size(); ++k) {
    operands[k] = count;
  }
  BufferWorkspace workspace(stream);
  runtime::launch_selection(call.program, shape, operands, call.scalars, workspace, stream);
}

/// The same, and waits for the number of elements, but not for these.
std::int64_t launch_and_count(const SelectCall& call, const Shape& shape,
                              const runtime::Operand& values, int arrays, const Stream& stream) {
  const HostWord count(stream);
  launch(call, shape, count.array(), values, arrays, stream);
  return count.wait();
}

/// The first `bytes` of the buffer, in no more memory than they need: where the pool takes the rest
/// back it is the buffer itself, else a copy, unless that would save little.
std::shared_ptr<Buffer> fitted(std::shared_ptr<Buffer> buffer, std::size_t bytes,
                               const Stream& stream) {
  if (buffer->bytes() <= std::max(bytes, kept_whole)) return buffer;
  if (bytes > 0 && (buffer->shrink(bytes) || bytes > buffer->bytes() / 2)) return buffer;
  auto copy = Buffer::allocate(bytes, stream);
  if (bytes > 0) {
    stream.state().device->copy(
        {backend::Direction::device_to_device, copy->address(), buffer->address(), bytes},
        stream.state().native, false);
  }
  return copy;
}

bool lacks_memory(std::size_t bytes, const Stream& stream) {
  if (!is_counted_first(bytes, 0)) return false;
  const std::size_t held = pool_statistics(stream.device()).held_bytes;
  return is_counted_first(bytes, stream.state().device->memory_info().free + held);
}

}  // namespace

QueuedSelection queue_selection(const SelectCall& call, const Shape& shape) {
  const Stream& stream = quarry::detail::stream_for(*call.arrays[0]);
  const std::int64_t bytes = byte_count(shape, call.program.itemsize[1]);
  QueuedSelection queued{Buffer::allocate(static_cast<std::size_t>(bytes), stream),
                         DeviceNDArray<std::int64_t>(Shape{}, {.stream = stream})};
  const runtime::Operand values{queued.buffer->address(), nullptr};
  launch(call, shape, queued.count, values, call.program.inputs, stream);
  return queued;
}

std::int64_t count_selected(const SelectCall& call) {
  if (element_count(call.mask) == 0) return 0;
  const Stream& stream = quarry::detail::stream_for(*call.arrays[0]);
  return launch_and_count(call, call.mask, {}, call.mask_arrays, stream);
}

Selection select_elements(const SelectCall& call, const SelectedAxes& axes) {
  const Stream& stream = quarry::detail::stream_for(*call.arrays[0]);
  const std::size_t itemsize = call.program.itemsize[1];
  Selection result{{}, nullptr};
  Shape& shape = result.layout.shape;
  std::int64_t others = 1;  // elements of a row
  for (std::size_t d = 0; d <= axes.shape.size(); ++d) {
    if (d == axes.axis) shape.push_back(0);
    if (d == axes.shape.size() || (d >= axes.axis && d < axes.axis + axes.count)) continue;
    shape.push_back(axes.shape[d]);
    others *= axes.shape[d];
  }
  std::int64_t& rows = shape[axes.axis];
  const std::int64_t all = element_count(axes.shape);
  std::size_t bytes = static_cast<std::size_t>(byte_count(axes.shape, itemsize));
  const bool counts_first = all == 0 || lacks_memory(bytes, stream);
  if (counts_first) {
    rows = count_selected(call);
    bytes = static_cast<std::size_t>(byte_count(shape, itemsize));
  }
  result.buffer = Buffer::allocate(bytes, stream);
  if (bytes > 0) {
    const runtime::Operand values{result.buffer->address(), nullptr};
    rows = launch_and_count(call, axes.shape, values, call.program.inputs, stream) / others;
  }
  result.layout.strides = c_strides(shape, itemsize);
  const auto kept = static_cast<std::size_t>(byte_count(shape, itemsize));
  result.buffer = fitted(std::move(result.buffer), kept, stream);
  return result;
}

bool is_broadcast(const Shape& values, std::size_t axes) {
  const std::size_t rank = values.size();
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  return rank <= axes || std::all_of(values.begin(), values.end() - axes, is_one);
}

void require_no_more_axes(const Shape& values, std::size_t axes) {
  require<ShapeError>(values.size() <= axes, [&] {
    return fmt::format("values of shape {} have more axes than the {} of the elements",
                       to_string(values), axes);
  });
}

RankedShape::RankedShape(const Shape& values, const Shape& array, std::size_t axes) {
  for (const std::int64_t extent : values) {
    if (given.empty() && extent == 1) continue;
    given.push_back(extent);
  }
  require<ShapeError>(given.size() == axes + 1, [&] {
    return fmt::format("values of shape {} for rows of {} axes that a mask selects",
                       to_string(values), axes);
  });
  whole.push_back(given[0]);
  for (std::size_t d = array.size() - axes; d < array.size(); ++d) whole.push_back(array[d]);
}

bool are_apart(const DeviceNDArrayBase& a, const DeviceNDArrayBase& b) {
  return !a.buffer()->shares_memory(*b.buffer()) ||
         (a.address() == b.address() && a.layout() == b.layout() && a.dtype() == b.dtype());
}

namespace {

void require_as_many(bool are, std::int64_t values, std::int64_t kept) {
  require<ShapeError>(are, [&] {
    return fmt::format("cannot assign values for {} places to the {} where the mask is true",
                       values, kept);
  });
}

/// The entries for the first `axes` axes of the mask behind `front` axes of the array.
std::vector<IndexEntry> entries_of(const DeviceNDArray<const bool>& mask, std::size_t axes,
                                   std::size_t front) {
  std::vector<IndexEntry> entries(front, all);
  std::vector<Index> first(mask.ndim(), 0);
  std::fill_n(first.begin(), axes, all);
  entries.emplace_back(mask(std::span<const Index>(first)));
  return entries;
}

/// Whether a GPU selects rows faster while it goes through all of them, in one call: short ones, of
/// which there are many, or little in all. Others are read where positions say.
bool are_packed(const DeviceNDArrayBase& array, const SelectedAxes& axes) {
  constexpr std::int64_t short_row = 96, many_rows = 1 << 16, few_bytes = 1 << 18;
  static_assert(short_row <= kernels::select_row_bytes);
  if (array.device().is_cpu() || axes.axis != 0 || !array.is_c_contiguous()) return false;
  const std::int64_t bytes = byte_count(axes.shape, array.dtype().itemsize());
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < axes.count; ++d) rows *= axes.shape[d];
  if (bytes == 0 || bytes / rows > short_row) return false;
  return rows >= many_rows || bytes <= few_bytes;
}

}  // namespace

std::optional<Selection> select_rows(const DeviceNDArrayBase& array,
                                     const DeviceNDArray<const bool>& mask,
                                     const SelectedAxes& axes) {
  std::optional<Selection> rows;
  with_numbers(array.dtype(), [&]<class U>(U) {
    if (are_packed(array, axes)) {
      const Leaf<const bool> chosen{mask};
      rows = with_selection<U>(chosen, Leaf<const U>{numbers_of<const U>(array)},
                               [&](const SelectCall& call) { return select_elements(call, axes); });
      return;
    }
    const auto entries = entries_of(mask, axes.count, axes.axis);
    const auto result = indexed_by_list(numbers_of<const U>(array), entries).template evaluate<U>();
    rows = Selection{result.layout(), result.buffer()};
  });
  return rows;
}

bool assign_rows(const DeviceNDArrayBase& array, const DeviceNDArray<const bool>& mask,
                 const DeviceNDArrayBase& values) {
  return with_numbers(array.dtype(), [&]<class U>(U) {
    const std::size_t axes = array.ndim() - (values.ndim() - 1);
    const auto place = indexed_by_list(numbers_of<U>(array), entries_of(mask, axes, 0));
    require_as_many(place.shape()[0] == values.shape()[0], values.shape()[0], place.shape()[0]);
    place.assign(numbers_of<const U>(values));
  });
}

void assign_ranked(const kernels::program& program, const DeviceNDArrayBase& out,
                   const DeviceNDArrayBase& mask, const RankedValues& values) {
  const Stream& stream = quarry::detail::stream_for(out);
  const DeviceNDArrayBase* const arrays[] = {&mask, &values.window};
  kernels::u64 scalar[1][2];
  std::memcpy(scalar, &values.axis, sizeof scalar);
  const SelectCall call{program, arrays, scalar, mask.shape(), 1};
  const std::int64_t kept = count_selected(call);
  const bool fits = values.repeat ? kept == 0 || values.axis.extent > 0 : kept == values.rows;
  require_as_many(fits, values.rows, kept);
  if (kept == 0 || element_count(out.shape()) == 0) return;
  const KernelInputs inputs(out, arrays, 2, stream);  // which checks the devices
  if (!out.is_c_contiguous()) require_no_aliases(out.layout(), out.dtype().itemsize());
  out.buffer()->used_on(stream);
  memory::note_write(out.address(), out.layout(), out.dtype().itemsize());
  const DeviceNDArray<std::int64_t> count(Shape{}, {.stream = stream});  // nobody waits for it
  launch(call, out.shape(), count, {out.address(), &out.layout()}, 2, stream);
}

namespace {

template <kernels::index_mode Mode>
const kernels::program* program_of(std::size_t size, std::size_t alignment) {
  if (size == 16 && alignment == 8) return &ranked_program<kernels::complex<double>, Mode>();
  if (size != alignment) return nullptr;
  if (size == 1) return &ranked_program<kernels::u8, Mode>();
  if (size == 2) return &ranked_program<kernels::u16, Mode>();
  if (size == 4) return &ranked_program<kernels::u32, Mode>();
  return size == 8 ? &ranked_program<kernels::u64, Mode>() : nullptr;
}

}  // namespace

const kernels::program* ranked_program(std::size_t size, std::size_t alignment, bool repeat) {
  using enum kernels::index_mode;
  return repeat ? program_of<wrap>(size, alignment) : program_of<clip>(size, alignment);
}

}  // namespace quarry::expr
