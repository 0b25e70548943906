// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/cuda_array.hpp>

#include <algorithm>

#include "lifetimes/scene.hpp"

namespace quarry::test {
namespace {

constexpr std::size_t bytes = 4 * elements, row = 4 * columns;

Later copies_up(Scene& t) {
  const Array out = t.array(0);
  Values from = ramp(1);
  memcpy_htod_async(out, from, t.held);
  std::ranges::fill(from, poison);
  return later(out, [](int i) { return 1 + i; });
}
Later copies_up_page_locked(Scene& t) {
  const Array out = t.array(0);
  memcpy_htod_async(out, t.pinned(1), t.held);
  return later(out, [](int i) { return 1 + i; });
}
Later copies_down(Scene& t) {
  const auto to = std::make_shared<Values>(elements);
  memcpy_dtoh_async(*to, t.array(1), t.held);
  return later(to, [](int i) { return 1 + i; });
}
Later copies_down_page_locked(Scene& t) {
  const auto to = std::make_shared<Pinned>(elements);
  memcpy_dtoh_async(*to, t.array(1), t.held);
  return later(to, [](int i) { return 1 + i; });
}
Later copies_down_into_dropped(Scene& t) {
  Pinned to = t.pinned(0);
  memcpy_dtoh_async(to, t.array(1), t.held);
  return {[] { return Values{}; }, {}};
}
Later copies_on_device(Scene& t) {
  const Array out = t.array(0);
  memcpy_dtod_async(out, t.array(1), bytes, t.held);
  return later(out, [](int i) { return 1 + i; });
}

template <class Call>
Later fills(Scene& t, int value, Call call) {
  const Array out = t.array(0);
  call(out);
  return later(out, [value](int) { return value; });
}
Later sets_8(Scene& t) {
  return fills(t, 0x07070707, [&](auto& out) { memset_d8_async(out, 7, bytes, t.held); });
}
Later sets_16(Scene& t) {
  return fills(t, 0x00070007, [&](auto& out) { memset_d16_async(out, 7, bytes / 2, t.held); });
}
Later sets_32(Scene& t) {
  return fills(t, 7, [&](auto& out) { memset_d32_async(out, 7, elements, t.held); });
}
Later sets_rows_8(Scene& t) {
  return fills(t, 0x07070707,
               [&](auto& out) { memset_d2d8_async(out, row, 7, row, rows, t.held); });
}
Later sets_rows_16(Scene& t) {
  return fills(t, 0x00070007,
               [&](auto& out) { memset_d2d16_async(out, row, 7, row / 2, rows, t.held); });
}
Later sets_rows_32(Scene& t) {
  return fills(t, 7, [&](auto& out) { memset_d2d32_async(out, row, 7, columns, rows, t.held); });
}

// --- boxes
// -------------------------------------------------------------------------------------------

template <class Copy>
void copy_whole(Copy& copy, const Stream& stream) {
  copy.width_in_bytes = row;
  copy.height = rows;
  if constexpr (requires { copy.depth; }) copy.depth = 1;
  copy(stream);
}
template <class Copy>
Later copies_box(Scene& t) {
  const Array out = t.array(0), from = t.array(1);
  Copy copy;
  copy.set_src_device(from);
  copy.set_dst_device(out);
  copy_whole(copy, t.held);
  return later(out, [](int i) { return 1 + i; });
}
template <class Copy>
Later copies_box_up(Scene& t) {
  const Array out = t.array(0);
  Values from = ramp(1);
  Copy copy;
  copy.set_src_host(from);
  copy.set_dst_device(out);
  copy_whole(copy, t.held);
  std::ranges::fill(from, poison);
  return later(out, [](int i) { return 1 + i; });
}
template <class Copy>
Later copies_box_up_page_locked(Scene& t) {
  const Array out = t.array(0);
  Pinned from = t.pinned(1);
  Copy copy;
  copy.set_src_host(from);
  copy.set_dst_device(out);
  copy_whole(copy, t.held);
  return later(out, [](int i) { return 1 + i; });
}
template <class Copy>
Later copies_box_down(Scene& t) {
  const auto to = std::make_shared<Values>(elements);
  const Array from = t.array(1);
  Copy copy;
  copy.set_src_device(from);
  copy.set_dst_host(*to);
  copy_whole(copy, t.held);
  return later(to, [](int i) { return 1 + i; });
}
template <class Copy>
Later copies_box_managed(Scene& t) {
  const Array out = t.managed(0), from = t.managed(1);
  Copy copy;
  copy.set_src_unified(DevicePtr(from));
  copy.set_dst_unified(DevicePtr(out));
  copy_whole(copy, t.held);
  return later(out, [](int i) { return 1 + i; });
}
/// The array is kept: its end waits for the copies.
template <class Copy>
Later copies_box_of_array(Scene& t) {
  const auto array = std::make_shared<CudaArray>(
      ArrayDescriptor{.width = columns, .height = rows, .dtype = TypeId::int32});
  const Array from = t.array(1), out = t.array(0);
  Copy in, back;
  in.set_src_device(from);
  in.set_dst_array(*array);
  copy_whole(in, t.held);
  back.set_src_array(*array);
  back.set_dst_device(out);
  copy_whole(back, t.held);
  return {[array, out] { return values_of(out); }, ramp(1), false};
}

}  // namespace

std::vector<EntryPoint> raw_entries() {
  return {
      {"CopiesUp", copies_up},
      {"CopiesUpPageLocked", copies_up_page_locked},
      {.name = "CopiesDown", .queue = copies_down, .blocks = Blocks::everywhere},
      {.name = "CopiesDownPageLocked",
       .queue = copies_down_page_locked,
       .blocks = Blocks::on_the_cpu},
      {.name = "CopiesDownIntoDropped",
       .queue = copies_down_into_dropped,
       .blocks = Blocks::on_the_cpu},
      {"CopiesOnDevice", copies_on_device},
      {"Sets8", sets_8},
      {"Sets16", sets_16},
      {"Sets32", sets_32},
      {"SetsRows8", sets_rows_8},
      {"SetsRows16", sets_rows_16},
      {"SetsRows32", sets_rows_32},
      {"CopiesBox2D", copies_box<Memcpy2D>},
      {"CopiesBox3D", copies_box<Memcpy3D>},
      {.name = "CopiesBoxUp2D", .queue = copies_box_up<Memcpy2D>, .blocks = Blocks::on_the_cpu},
      {.name = "CopiesBoxUp3D", .queue = copies_box_up<Memcpy3D>, .blocks = Blocks::on_the_cpu},
      {.name = "CopiesBoxUpPageLocked2D",
       .queue = copies_box_up_page_locked<Memcpy2D>,
       .blocks = Blocks::on_the_cpu},
      {.name = "CopiesBoxUpPageLocked3D",
       .queue = copies_box_up_page_locked<Memcpy3D>,
       .blocks = Blocks::on_the_cpu},
      {.name = "CopiesBoxDown2D", .queue = copies_box_down<Memcpy2D>, .blocks = Blocks::everywhere},
      {.name = "CopiesBoxDown3D", .queue = copies_box_down<Memcpy3D>, .blocks = Blocks::everywhere},
      {.name = "CopiesBoxManaged2D",
       .queue = copies_box_managed<Memcpy2D>,
       .blocks = Blocks::everywhere},
      {.name = "CopiesBoxManaged3D",
       .queue = copies_box_managed<Memcpy3D>,
       .blocks = Blocks::everywhere},
      {"CopiesBoxOfArray2D", copies_box_of_array<Memcpy2D>},
      {"CopiesBoxOfArray3D", copies_box_of_array<Memcpy3D>}};
}

}  // namespace quarry::test
