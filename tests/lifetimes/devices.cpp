// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/block_copy.hpp>

#include "lifetimes/scene.hpp"

/// Between two GPUs: the copy waits for what is queued on the other one, and the memory there for
/// the copy.
namespace quarry::test {
namespace {

constexpr std::size_t bytes = 4 * elements;

Later comes_over(Scene& t) {
  const Array out = t.array(0);
  out.copy_to_device(t.coming_from_away(1), t.held);
  return later(out, [](int i) { return 1 + i; });
}
Later comes_over_assigned(Scene& t) {
  const Array out = t.array(0);
  out(all) = t.coming_from_away(1);
  return later(out, [](int i) { return 1 + i; });
}
Later comes_over_transposed(Scene& t) {
  const Array out = t.array(0, {columns, rows});
  out.copy_to_device(t.coming_from_away(0).transpose(), t.held);
  return later(out, [](int i) {
    constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
    return i % r * k + i / r;
  });
}
Later comes_over_into_steps(Scene& t) {
  const Array out = t.array(0, {2 * rows, columns});
  out(range(_, _, 2)).copy_to_device(t.coming_from_away(1), t.held);
  return later(out, [](int i) {
    constexpr int k = static_cast<int>(columns);
    return i / k % 2 == 0 ? 1 + i / k / 2 * k + i % k : i;
  });
}
Later comes_over_converted(Scene& t) {
  const auto out = t.floats(0);
  out.copy_to_device(t.coming_from_away(1).astype<std::int16_t>(), t.held);
  return later(out, [](int i) { return 1 + i; });
}
Later moves(Scene& t) {
  const Array out = to_device(t.coming_from_away(1), Device());
  return later(out, [](int i) { return 1 + i; });
}
/// Raw copies know no streams of the other GPU: the source is there already.
Later copies_bytes(Scene& t) {
  const Array out = t.array(0), from = t.array_away(1);
  memcpy_peer_async(out, from, bytes, t.held);
  return later(out, [](int i) { return 1 + i; });
}
Later copies_box(Scene& t) {
  const Array out = t.array(0), from = t.array_away(1);
  Memcpy3DPeer copy;
  copy.set_src_device(from);
  copy.set_dst_device(out);
  copy.width_in_bytes = bytes;
  copy.height = copy.depth = 1;
  copy(t.held);
  return later(out, [](int i) { return 1 + i; });
}

}  // namespace

std::vector<EntryPoint> device_entries() {
  std::vector<EntryPoint> all = {{"ComesOver", comes_over},
                                 {"ComesOverAssigned", comes_over_assigned},
                                 {"ComesOverTransposed", comes_over_transposed},
                                 {"ComesOverIntoSteps", comes_over_into_steps},
                                 {"ComesOverConverted", comes_over_converted},
                                 {"Moves", moves}};
  for (EntryPoint& entry : all) entry.joins = true;
  all.push_back({"CopiesBytes", copies_bytes});
  all.push_back({"CopiesBox", copies_box});
  for (EntryPoint& entry : all) entry.two_gpus = true;
  return all;
}

}  // namespace quarry::test
