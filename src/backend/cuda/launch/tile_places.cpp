// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tile_places.hpp"

#include <algorithm>

#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

bool is_dense(const Operand& operand, std::uint32_t size) {
  std::uint64_t places = reinterpret_cast<std::uint64_t>(operand.data);
  for (const std::int64_t stride : operand.strides) places |= static_cast<std::uint64_t>(stride);
  return operand.strides.back() == size && is_multiple(places, std::uint64_t{size});
}

/// The least pitch of an axis, of words that do not overlap, with which words of shared memory are
/// words of global memory. 0 if there is none.
std::int64_t congruent(std::int64_t least, const Axes& axes, std::size_t group,
                       const TilePart& tiled, int word) {
  std::int64_t smallest = 4;
  for (const std::uint32_t size : tiled.sizes) smallest = std::min<std::int64_t>(smallest, size);
  if (group == 1) least += 2 * (word - smallest) / smallest;
  for (std::int64_t pitch = least; pitch < least + word; ++pitch) {
    bool is_congruent = true;
    for (std::size_t i = 0; i < tiled.sizes.size(); ++i) {
      const std::int64_t stride = tiled.operands[i].strides[axes.count - 1 - group];
      const bool is_small = tiled.sizes[i] < 4;
      if (is_small && (pitch * tiled.sizes[i] - stride) % word != 0) is_congruent = false;
    }
    if (is_congruent) return pitch;
  }
  return 0;
}

/// Rows are read in order, and lie an odd number of elements apart, so that the elements of a
/// column are in different banks. False if that does not fit the shared memory.
bool place_rows(TilePlaces& places, const Cut& cut, const TiledInputs& inputs, const Axes& axes,
                const TilePart& tiled, bool spread) {
  std::int64_t pitch = 1;
  std::size_t group = 0;
  for (std::size_t i = 0; i < inputs.order.rank; ++i) {
    const std::size_t axis = inputs.order.fastest(i);
    places.pitch[axis] = pitch;
    pitch *= cut.size[axis];
    if (group + 1 >= axes.in_tile || axis != axes.axis[group].outer) continue;
    ++group;
    if (places.word > 0) {
      pitch = congruent(pitch, axes, group, tiled, places.word);
      if (pitch == 0) return false;
    } else if (spread && group == 1) {
      pitch |= 1;
    }
  }
  const std::int64_t ends = places.word;
  return pitch + ends <= kernels::tile_space(inputs.widest, inputs.count);
}

}  // namespace

TilePlaces places_of(const Cut& cut, const TiledInputs& inputs, const Axes& read,
                     const TilePart& tiled, bool swizzled) {
  bool has_small = false, can = true;
  for (std::size_t i = 0; i < tiled.operands.size(); ++i) {
    if (tiled.sizes[i] >= 4) continue;
    has_small = true;
    can = can && is_dense(tiled.operands[i], tiled.sizes[i]);
  }
  for (const int word : {16, 8, 4}) {
    if (!has_small || !can || (word == 16 && swizzled)) continue;
    TilePlaces places{.word = word};
    if (place_rows(places, cut, inputs, read, tiled, true)) return places;
  }
  TilePlaces places;
  if (place_rows(places, cut, inputs, read, tiled, true)) return places;
  return places_in_order(cut, inputs.order);  // fits: cut_of
}

TilePlaces places_in_order(const Cut& cut, const Order& order) {
  TilePlaces places;
  std::int64_t number = 1;
  for (std::size_t i = 0; i < order.rank; ++i) {
    const std::size_t axis = order.fastest(i);
    places.pitch[axis] = number;
    number *= cut.size[axis];
  }
  return places;
}

}  // namespace quarry::backend::cuda
