// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/overlap.hpp>
#include <quarry/expr/scatter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "expr/host_word.hpp"
#include "expr/kernel_inputs.hpp"
#include "expr/numbers.hpp"
#include "memory/ascending_numbers.hpp"
#include "memory/write_log.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {
namespace {

bool overlaps(const DeviceNDArrayBase& a, const DeviceNDArrayBase& b) {
  return a.buffer()->shares_memory(*b.buffer()) && a.buffer()->address() &&
         overlap(a.address(), a.layout(), a.dtype().itemsize(), b.address(), b.layout(),
                 b.dtype().itemsize()) != Overlap::disjoint;
}

/// The extent or stride of an axis that is counted from the last one; 1 if there is none.
std::int64_t from_end(const Shape& shape, std::size_t axis) {
  return axis < shape.size() ? shape[shape.size() - 1 - axis] : 1;
}

/// The output along all axes of what is written, with as many more of extent 1 as the inputs have.
Layout output_layout(const Target& target, const DeviceNDArrayBase* const* arrays, int count) {
  Layout out = broadcast_to(target.window.layout(), target.shape);
  for (int k = 0; k < count; ++k) {
    while (out.rank() < arrays[k]->ndim()) {
      out.shape.insert(0, 1);
      out.strides.insert(0, 0);
    }
  }
  for (int k = 0; k < count; ++k) require_broadcast(out.shape, arrays[k]->shape(), target.shape);
  return out;
}

/// An output with axes of extent 1 in front, if the values have more.
Shape widened(Shape shape, std::size_t rank) {
  while (shape.size() < rank) shape.insert(0, 1);
  return shape;
}

}  // namespace

void require_writable_to_empty(const Shape& values, const Shape& place) {
  Shape last;
  for (std::size_t d = values.size(); d > 0 && last.size() < place.size(); --d) {
    last.insert(0, values[d - 1]);
  }
  const bool is_kept = element_count(last) == element_count(values);
  require_broadcast(is_kept ? place : widened(place, values.size()), is_kept ? last : values,
                    place);
}

void require_met(const Shape& values, const Shape& place) {
  require<ShapeError>(values.size() <= place.size(), [&] {
    return fmt::format("values of shape {} have more axes than the elements, of shape {}",
                       to_string(values), to_string(place));
  });
  require_broadcast(place, values, place);
}

void scatter_into(const kernels::program& program, const Target& target,
                  const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                  int own) {
  const DeviceNDArrayBase& array = target.array;
  const Layout out = output_layout(target, arrays, program.inputs);
  if (element_count(out.shape) == 0) return;
  require_no_aliases(array.layout(), array.dtype().itemsize());
  const Stream& stream = quarry::detail::stream_for(array);
  std::vector<const DeviceNDArrayBase*> read(arrays, arrays + program.inputs);
  std::vector<std::unique_ptr<Copy>> copies;
  for (int k = 0; k < program.inputs; ++k) {
    const bool is_side = program.own[program.outputs + k].count > 0;
    if (k == own || is_side || !overlaps(array, *arrays[k])) continue;
    copies.push_back(std::make_unique<Copy>(*arrays[k], stream));
    read[static_cast<std::size_t>(k)] = copies.back().get();
  }
  const KernelInputs inputs(array, read.data(), program.inputs, stream);
  array.buffer()->used_on(stream);
  memory::note_write(array.address(), array.layout(), array.dtype().itemsize());
  const runtime::Operand output{target.window.address(), &out};
  BufferWorkspace workspace(stream);
  runtime::launch_map(program, operands_of({&output, 1}, inputs.arrays(), program.inputs), scalars,
                      stream, true, workspace, {target.check, target.is_new});
  if (target.check && !target.is_new) target.check->require();
}

void queue_check(const Target& target) {
  if (target.check) target.check->word(quarry::detail::stream_for(target.array));
}

bool reads_target(const DeviceNDArrayBase& target, const DeviceNDArrayBase* const* arrays,
                  int count, int own) {
  for (int k = 0; k < count; ++k) {
    if (k != own && arrays[k]->buffer()->shares_memory(*target.buffer())) return true;
  }
  return false;
}

bool is_same_for_all(const Shape& values, const Shape& turns) {
  for (std::size_t d = 0; d < turns.size(); ++d) {
    if (from_end(turns, d) != 1 && from_end(values, d) != 1) return false;
  }
  return true;
}

kernels::turns turns_of(const Shape& target, const Shape& turns) {
  std::int64_t behind = 1;
  for (std::size_t d = 0; d < target.size() && from_end(turns, d) == 1; ++d) {
    behind *= from_end(target, d);
  }
  return {behind, element_count(turns)};
}

Region region_of(const Target& target, std::span<const kernels::side_axis> own,
                 const Shape& turns) {
  Region region{{}, own};
  for (std::size_t d = turns.size(); d-- > 0;) {
    const bool has_axis = from_end(turns, d) != 1 && from_end(target.window.shape(), d) != 1;
    region.window.shape.push_back(has_axis ? from_end(target.window.shape(), d) : 1);
    region.window.strides.push_back(has_axis ? from_end(target.window.strides(), d) : 0);
  }
  return region;
}

std::int64_t Region::size() const {
  std::int64_t count = element_count(window.shape);
  for (const auto& axis : own) count = checked_mul(count, axis.extent);
  return count;
}

Layout Region::layout() const {
  Layout result = squeeze(window);
  for (const auto& axis : own) {
    if (axis.extent == 1) continue;
    result.shape.push_back(axis.extent);
    result.strides.push_back(axis.stride);
  }
  return result;
}

std::int64_t bits_of_each(std::int64_t count) {
  return 62 - static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(count)));
}

namespace {

/// What `array` has for the places of a region, `size` units each.
template <class T>
Places<T> places_of(DeviceNDArray<T> array, const Region& region, std::int64_t size) {
  Places<T> made{std::move(array), region.window, {region.own.begin(), region.own.end()}};
  std::int64_t stride = size;
  for (std::size_t n = made.own.size(); n-- > 0; stride *= made.own[n].extent) {
    made.own[n].stride = stride;
  }
  Layout& window = made.window;
  for (std::size_t d = window.rank(); d-- > 0; stride *= window.shape[d]) {
    window.strides[d] = stride;
  }
  return made;
}

}  // namespace

template <class N>
Owners<N> new_owners(const Target& target, std::span<const kernels::side_axis> own,
                     const Shape& turns) {
  const Stream& stream = quarry::detail::stream_for(target.array);
  const Region all = region_of(target, own, turns);
  const Shape shape{all.size()};
  if constexpr (std::same_as<N, std::int32_t>) {
    if (auto kept = memory::new_ascending_numbers(stream, all.size(), element_count(turns))) {
      std::byte* const data = kept->buffer->data();
      DeviceNDArray<N> array({shape, {sizeof(N)}}, data, std::move(kept->buffer));
      return {places_of(std::move(array), all, sizeof(N)), kept->first};
    }
  }
  DeviceNDArray<N> array(shape, stream);
  array.fill(-1);
  return {places_of(std::move(array), all, sizeof(N)), 0};
}
template Owners<std::int32_t> new_owners(const Target&, std::span<const kernels::side_axis>,
                                         const Shape&);
template Owners<std::int64_t> new_owners(const Target&, std::span<const kernels::side_axis>,
                                         const Shape&);

namespace {

/// The only axis of positions that is not 1, counted from the last one; none if there are several.
std::optional<std::size_t> only_axis(const Shape& turns) {
  std::optional<std::size_t> only;
  for (std::size_t d = 0; d < turns.size(); ++d) {
    if (from_end(turns, d) == 1) continue;
    if (only) return std::nullopt;
    only = d;
  }
  return only;
}

/// The element of the values that an owner has.
template <class K>
const kernels::program& owned_rows_program() {
  using namespace kernels;
  using Owner = in<i32, 0>;
  using First = val<i32, 1>;
  using IsThere = op<greater_equal_op, i32, Owner, First>;
  using Value = pick<K, 1, place<index_mode::from_end, 0, op<subtract_op, i32, Owner, First>>>;
  return program_for<map_of<guarded<IsThere, Value>, K, 2, i32, side<K>>>::value;
}

}  // namespace

bool has_owned_rows(const Target& target, std::span<const kernels::side_axis> own,
                    const Shape& turns, const DeviceNDArrayBase& values) {
  constexpr std::int64_t least_bytes = 64, most_places = 3;
  const auto axis = only_axis(turns);
  if (own.size() != 1 || !axis || from_end(target.window.shape(), *axis) != 1) return false;
  const std::int64_t count = element_count(turns), elements = element_count(target.shape);
  const auto itemsize = static_cast<std::int64_t>(values.dtype().itemsize());
  if (count > std::numeric_limits<std::int32_t>::max()) return false;
  const bool is_worth_it = elements / count * itemsize >= least_bytes &&
                           own[0].extent / most_places <= count &&
                           from_end(values.shape(), *axis) == count;
  return is_worth_it && is_aligned(values) && with_numbers(values.dtype(), [](auto) {}) &&
         !values.buffer()->shares_memory(*target.array.buffer());
}

void write_owned_rows(const Target& target, const kernels::side_axis& own, const Shape& turns,
                      const DeviceNDArrayBase& values, const Owners<std::int32_t>& owners) {
  const std::size_t axis = target.shape.size() - 1 - only_axis(turns).value();
  Layout out = broadcast_to(target.window.layout(), target.shape);
  Layout row = broadcast_to(values.layout(), target.shape);
  out.shape[axis] = own.extent, out.strides[axis] = own.stride;
  kernels::u64 scalars[2][2] = {};
  const kernels::side_axis numbers{row.shape[axis], row.strides[axis]};
  std::memcpy(scalars[0], &numbers, sizeof numbers);
  std::memcpy(scalars[1], &owners.first, sizeof owners.first);
  row.shape[axis] = 1, row.strides[axis] = 0;
  Layout owner{Shape::filled(out.rank(), 1), Strides::filled(out.rank(), 0)};
  owner.shape[axis] = own.extent, owner.strides[axis] = owners.own[0].stride;
  const DeviceNDArray<std::int32_t> owned(owner, owners.array.address(), owners.array.buffer());
  const std::int64_t to_window = target.window.address() - target.array.address();
  with_numbers(values.dtype(), [&]<class U>(U) {
    const auto from = numbers_of<const U>(values, {row, 0});
    const DeviceNDArrayBase* const arrays[] = {&owned, &from};
    evaluate_into(owned_rows_program<kernel_type_t<U>>(),
                  numbers_of<U>(target.array, {out, to_window}), arrays, scalars, false, true,
                  target.check);
  });
}

bool may_be_distinct(const Target& target, std::span<const kernels::side_axis> own,
                     const Shape& turns) {
  constexpr std::int64_t many = std::int64_t{1} << 16;
  if (quarry::detail::stream_for(target.array).state().is_captured()) return false;
  std::int64_t places = 1;
  for (const auto& axis : own) places *= axis.extent;
  return places >= many && places >= element_count(turns) &&
         places == region_of(target, own, turns).size();
}

Marks new_marks(const Target& target, std::span<const kernels::side_axis> own, const Shape& turns) {
  const Region all = region_of(target, own, turns);
  DeviceNDArray<std::uint32_t> words({2 + all.size() / 32},
                                     quarry::detail::stream_for(target.array));
  words.fill(0);
  return places_of(std::move(words), all, 1);
}

bool is_one_repeated(const Marks& marks) {
  const HostWord word(quarry::detail::stream_for(marks.array));
  word.array().assign(marks.array(0));
  return word.wait() != 0;
}

}  // namespace quarry::expr
