// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/join.hpp>
#include <quarry/ops/joined_rows.hpp>

#include <algorithm>
#include <cstring>

#include "base/power_of_two.hpp"
#include "kernels/words.hpp"
#include "memory/write_log.hpp"
#include "runtime/launch.hpp"

namespace quarry::expr {
namespace {

const kernels::program& join_program_of(std::size_t word) {
  return kernels::word_program(
      word, []<class Word>(std::type_identity<Word>) -> auto& {
        return kernels::program_for<kernels::join_of<Word>>::value;
      });
}

/// The bytes of one index along `axis`, if what is behind it is dense; else -1.
std::int64_t dense_bytes(const Layout& layout, std::size_t axis, std::int64_t itemsize) {
  std::int64_t bytes = itemsize;
  for (std::size_t d = layout.rank() - 1; d > axis; --d) {
    if (layout.shape[d] != 1 && layout.strides[d] != bytes) return -1;
    bytes *= layout.shape[d];
  }
  return bytes;
}

}  // namespace

bool JoinedRows::has_rows(const DeviceNDArrayBase& result, std::size_t axis) {
  const Shape& shape = result.shape();
  return result.size() > 0 &&
         element_count(Shape(shape.begin(), shape.begin() + std::ptrdiff_t(axis))) > 1;
}

JoinedRows::JoinedRows(const DeviceNDArrayBase& result, std::size_t axis)
    : result_(result), axis_(axis), itemsize_(std::int64_t(result.dtype().itemsize())) {
  inner_ = dense_bytes(result.layout(), axis, itemsize_);
  can_be_joined_ = has_rows(result, axis) && result.is_c_contiguous();
  for (std::size_t d = 0; d < axis; ++d) {
    axes_.push_back({result.shape()[d], 0, result.shape()[d]});
  }
}

void JoinedRows::add_value(const void* value) {
  const auto bytes = static_cast<std::size_t>(itemsize_);
  if (!is_power_of_two(bytes) || bytes > 16 || values_.size() == kernels::most_joined_values) {
    can_be_joined_ = false;
    return;
  }
  auto& words = values_.emplace_back();
  for (std::size_t at = 0; at < sizeof words; at += bytes) {
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + at, value, bytes);
  }
}

void JoinedRows::roll(std::size_t axis, std::int64_t shift) { axes_[axis].shift = shift; }

void JoinedRows::pad(std::size_t axis, std::int64_t before, std::int64_t size,
                     const void* value_before, const void* value_behind) {
  axes_[axis].shift = before;
  axes_[axis].size = size;
  if (axes_[axis].is_plain()) return;
  axes_[axis].value = static_cast<int>(values_.size());
  add_value(value_before);
  add_value(value_behind);
}

void JoinedRows::add(const DeviceRef& from, std::int64_t first, std::int64_t count) {
  if (count == 0) return;
  const Layout& layout = from.layout;
  const std::int64_t stride = layout.strides[axis_];
  const bool is_dense = dense_bytes(layout, axis_, itemsize_) == inner_ &&
                        (layout.shape[axis_] == 1 || stride == inner_);
  if (!is_dense || !(from.buffer->device() == result_.device())) can_be_joined_ = false;
  const std::int64_t bytes = count * inner_;
  Part part{end_, end_ + bytes, -1, from.data + first * inner_, {}, from.buffer};
  for (std::size_t d = 0; d < axis_; ++d) {
    part.pitch.push_back(layout.shape[d] == 1 ? 0 : layout.strides[d]);
  }
  parts_.push_back(std::move(part));
  end_ += bytes;
}

void JoinedRows::fill(std::int64_t count, const void* value) {
  if (count == 0) return;
  const std::int64_t bytes = count * inner_;
  parts_.push_back({.begin = end_, .end = end_ + bytes, .value = static_cast<int>(values_.size())});
  add_value(value);
  end_ += bytes;
}

/// Where a part has not much of a row.
bool JoinedRows::are_worth_it() const {
  constexpr std::int64_t long_part = std::int64_t{256} << 10, long_row_on_cpu = 256;
  if (result_.device().is_cpu()) return end_ < long_row_on_cpu;
  return std::ranges::any_of(parts_, [](const Part& p) { return p.end - p.begin < long_part; });
}

/// Leaves out axes of extent 1, and makes one of two where all parts can.
void JoinedRows::merge_axes() {
  const auto remove = [&](std::size_t d) {
    axes_.erase(axes_.begin() + std::ptrdiff_t(d));
    for (Part& part : parts_) {
      if (part.data) part.pitch.erase(d);
    }
  };
  for (std::size_t d = axes_.size(); d-- > 0;) {
    if (axes_[d].is_plain() && axes_[d].extent == 1) remove(d);
  }
  for (std::size_t d = axes_.size(); d-- > 1;) {
    const std::int64_t extent = axes_[d].extent;
    const auto is_one = [&](const Part& p) {
      return !p.data || p.pitch[d - 1] == p.pitch[d] * extent;
    };
    if (!axes_[d - 1].is_plain() || !axes_[d].is_plain()) continue;
    if (!std::ranges::all_of(parts_, is_one)) continue;
    const std::int64_t rows = axes_[d - 1].extent * extent;
    axes_[d] = {rows, 0, rows};
    remove(d - 1);
  }
}

/// The largest word of which everything is a multiple.
std::int64_t JoinedRows::word_size() const {
  std::uint64_t places = reinterpret_cast<std::uintptr_t>(result_.address());
  for (const Part& part : parts_) {
    places |= static_cast<std::uint64_t>(part.begin) | static_cast<std::uint64_t>(part.end);
    if (!part.data) continue;
    places |= reinterpret_cast<std::uintptr_t>(part.data);
    for (const std::int64_t pitch : part.pitch) places |= static_cast<std::uint64_t>(pitch);
  }
  return static_cast<std::int64_t>(kernels::common_word(places));
}

std::shared_ptr<kernels::join_parts> JoinedRows::parts_of_words(std::int64_t word) const {
  auto made = std::make_shared<kernels::join_parts>();
  kernels::join_parts& join = *made;
  join.columns = kernels::joined_extent::of(end_ / word);
  join.axes = static_cast<kernels::i32>(axes_.size());
  join.parts = static_cast<kernels::i32>(parts_.size());
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    const auto& [extent, shift, size, value] = axes_[d];
    join.axis[d] = {kernels::joined_extent::of(extent), shift, size, value < 0 ? 1 : 0, value};
  }
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    kernels::joined_part& to = join.part[k];
    to.end = part.end / word;
    to.value = part.value;
    if (!part.data) continue;
    to.data = reinterpret_cast<kernels::u64>(part.data) - static_cast<kernels::u64>(part.begin);
    std::ranges::copy(part.pitch, to.pitch);
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    std::ranges::copy(values_[v], join.value[v]);
  }
  return made;
}

bool JoinedRows::write() {
  if (!can_be_joined_ || parts_.size() > kernels::most_joined_parts || !are_worth_it()) {
    return false;
  }
  merge_axes();
  const std::int64_t word = word_size();
  const bool has_words = values_.empty() || word >= itemsize_;  // of values
  if (axes_.size() > kernels::most_joined_axes || axes_.empty() || !has_words) return false;
  const Stream& stream = quarry::detail::stream_for(result_);
  for (const Part& part : parts_) {
    if (part.buffer) part.buffer->used_on(stream);
  }
  result_.buffer()->used_on(stream);
  memory::note_write(result_.address(), result_.layout(), result_.dtype().itemsize());
  runtime::launch_join(join_program_of(static_cast<std::size_t>(word)), result_.address(),
                       parts_of_words(word), stream);
  return true;
}

bool write_rolled(const DeviceNDArrayBase& result, const DeviceRef& source, const Shape& offsets) {
  std::size_t axis = offsets.size();
  while (axis > 0 && offsets[axis - 1] == 0) --axis;
  if (axis == 0 || !JoinedRows::has_rows(result, axis - 1)) return false;
  JoinedRows rows(result, --axis);
  for (std::size_t d = 0; d < axis; ++d) rows.roll(d, offsets[d]);
  const std::int64_t extent = result.shape()[axis], wrapped = offsets[axis];
  rows.add(source, extent - wrapped, wrapped);
  rows.add(source, 0, extent - wrapped);
  return rows.write();
}

bool write_tiled(const DeviceNDArrayBase& result, const DeviceRef& source, const Shape& counts) {
  const std::size_t rank = result.ndim();
  if (source.layout.rank() != rank || counts.size() > rank) return false;
  const auto is_several = [](std::int64_t count) { return count != 1; };
  const auto* const several = std::ranges::find_if(counts, is_several);
  if (several == counts.end() || std::count_if(several, counts.end(), is_several) > 1) return false;
  const auto axis = static_cast<std::size_t>(several - counts.begin()) + rank - counts.size();
  if (*several > kernels::most_joined_parts || !JoinedRows::has_rows(result, axis)) return false;
  JoinedRows rows(result, axis);
  for (std::int64_t n = 0; n < *several; ++n) rows.add(source, 0, source.layout.shape[axis]);
  return rows.write();
}

}  // namespace quarry::expr
