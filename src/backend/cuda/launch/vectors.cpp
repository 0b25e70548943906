// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/vectors.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <quarry/kernels/access.hpp>
#include <quarry/kernels/params.hpp>

#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

/// How many elements of so many bytes one access has, at most `width` and 16 bytes.
int width_of(std::uint32_t bytes, int width) {
  return std::min(width, static_cast<int>(std::max(16u / bytes, 1u)));
}

bool is_backwards(const CallOperands& operands, std::size_t k, std::size_t axis) {
  return operands.stride(k, axis) == -std::int64_t{operands.itemsizes[k]};
}

/// The elements of the widest access of operand k along `axis`, at most `width` and 16 bytes; 1 if
/// they are not `unit` bytes apart.
int dense_width(const CallOperands& operands, std::size_t k, std::size_t axis, std::uint32_t unit,
                int width) {
  if (!is_power_of_two(unit) || operands.stride(k, axis) != unit) return 1;
  return width_of(unit, width);
}
/// The same of one that is dense.
int dense_width(const CallOperands& operands, std::size_t k, std::size_t axis, int width) {
  return dense_width(operands, k, axis, operands.itemsizes[k], width);
}

/// The address of operand k and its strides along all axes but `axis`, or how much they differ from
/// those of operand `from`, combined by or: a multiple of every power of two that they all are
/// multiples of.
std::uint64_t places_of(const CallOperands& operands, std::size_t k, std::size_t axis,
                        std::optional<std::size_t> from) {
  std::uint64_t places = operands.address(k) - (from ? operands.address(*from) : 0);
  for (std::size_t d = 0; d < operands.rank(); ++d) {
    if (d == axis) continue;
    const std::int64_t stride = operands.stride(k, d) - (from ? operands.stride(*from, d) : 0);
    places |= static_cast<std::uint64_t>(stride);
  }
  return places;
}

/// The largest number of elements, a power of two up to `width`, that `places` are multiples of.
int aligned_width(std::uint64_t places, std::uint32_t size, int width) {
  while (width > 1 && !is_multiple(places, static_cast<std::uint64_t>(width) * size)) width /= 2;
  return width;
}

/// The same of a side operand's own axes: a vector of it is one at every place on them.
int own_width(const CallOperands& operands, std::size_t k, std::uint32_t size, int width) {
  return aligned_width(operands.own_strides(k), size, width);
}

constexpr std::size_t most_wide_inputs = 16, most_with_gaps = 14;

/// The inputs that move along an axis, as `wide` has them.
class WideInputs {
 public:
  WideInputs(const CallOperands& operands, std::size_t axis) : operands_(operands), axis_(axis) {}

  std::size_t count() const { return operands_.all.size() - operands_.outputs; }
  bool moves(std::size_t k) const { return operands_.stride(k, axis_) != 0; }
  void add(std::size_t k, int bit = 0) {
    wide_ |= 1u << (k - operands_.outputs + static_cast<std::size_t>(bit));
  }
  VectorAccess access(int width, VectorPlaces places) const {
    if (width == 1) return {};
    return {width, static_cast<int>(wide_), places};
  }

 private:
  const CallOperands& operands_;
  std::size_t axis_;
  unsigned wide_ = 0;
};

/// Vectors along `axis` of the inputs that move along it, to which every row of theirs is aligned.
/// With `every_second` an input may have every second element.
VectorAccess input_vectors(const CallOperands& operands, std::size_t axis, int width,
                           bool every_second = false) {
  WideInputs inputs(operands, axis);
  if (inputs.count() > most_wide_inputs) return {};
  every_second = every_second && inputs.count() <= most_with_gaps;
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (!inputs.moves(k)) continue;
    const std::uint32_t size = operands.itemsizes[k];
    const bool has_gaps = every_second && operands.stride(k, axis) == 2 * std::int64_t{size};
    const std::uint32_t unit = has_gaps ? 2 * size : size;
    width = dense_width(operands, k, axis, unit, width);
    width = aligned_width(places_of(operands, k, axis, {}), unit, width);
    width = own_width(operands, k, unit, width);
    inputs.add(k);
    if (has_gaps) inputs.add(k, kernels::input_access::other_step);
  }
  return inputs.access(width, VectorPlaces::aligned);
}

/// The same where every row of an input is as far from an aligned vector as the same row of the
/// others, and their elements are equally far apart.
VectorAccess shifted_vectors(const CallOperands& operands, std::size_t axis, int width,
                             bool every_second = false) {
  WideInputs inputs(operands, axis);
  if (inputs.count() > most_wide_inputs) return {};
  every_second = every_second && inputs.count() <= most_with_gaps;
  std::optional<std::size_t> first;
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (!inputs.moves(k)) continue;
    if (!first) first = k;
    const std::int64_t size = operands.itemsizes[k], apart = operands.stride(k, axis);
    const bool has_gaps = every_second && apart == 2 * size;
    if (apart != operands.stride(*first, axis) || (apart != size && !has_gaps)) return {};
    if (!is_power_of_two(operands.itemsizes[k])) return {};
    const auto unit = static_cast<std::uint32_t>(apart);
    if (!is_multiple(places_of(operands, k, axis, {}), std::uint64_t{unit})) return {};
    width = width_of(unit, width);
    if (k != *first) width = aligned_width(places_of(operands, k, axis, first), unit, width);
    width = own_width(operands, k, unit, width);
    inputs.add(k);
    if (has_gaps) inputs.add(k, kernels::input_access::other_step);
  }
  return inputs.access(width, VectorPlaces::shifted);
}

/// None where no input moves.
VectorAccess moving(const VectorAccess& access) {
  return access.wide == 0 ? VectorAccess{} : access;
}

constexpr int widest = 16;

/// shifted_vectors() of rows of `extent` elements, some of each.
VectorAccess useful_shifted(const CallOperands& operands, std::int64_t extent) {
  int useful = widest;
  while (useful > 1 && extent < 8 * useful) useful /= 2;
  return moving(shifted_vectors(operands, operands.rank() - 1, useful, true));
}

}  // namespace

std::uint64_t CallOperands::own_strides(std::size_t k) const {
  std::uint64_t strides = 0;
  for (int s = 0; own && s < own[k].count; ++s) {
    strides |= scalars[own[k].first + s].word[1];  // of a kernels::side_axis
  }
  return strides;
}

bool CallOperands::has_dense_rows(std::size_t k, std::int64_t columns) const {
  const auto size = std::int64_t{itemsizes[k]};
  return rank() == 2 && stride(k, 1) == size && stride(k, 0) == size * columns;
}

bool CallOperands::writes_rows() const {
  if (!is_side(0) || !is_at_one_place) return false;
  std::vector<std::int64_t> strides;
  for (std::size_t k = outputs; k < all.size(); ++k) strides.push_back(last_stride(k));
  return is_at_one_place(strides.data());
}

int vector_width(const CallOperands& operands) {
  std::uint32_t widest_item = 1;
  std::uint64_t unit = 16;  // largest power of two of elements to which every pointer is aligned
  for (std::size_t k = 0; k < operands.all.size(); ++k) {
    const std::uint32_t size = operands.itemsizes[k];
    if (!is_power_of_two(size)) return 1;
    widest_item = std::max(widest_item, size);
    while (unit > 1 && !is_multiple(operands.address(k), unit * size)) unit /= 2;
  }
  return static_cast<int>(std::min<std::uint64_t>(unit, std::max(16u / widest_item, 1u)));
}

int vectors_of_thread(kernels::stored_elements stores, int width,
                      std::span<const std::uint32_t> input_sizes) {
  if (stores == kernels::stored_elements::all) return 1;
  const std::uint32_t bytes = std::accumulate(input_sizes.begin(), input_sizes.end(), 0u);
  return kernels::chosen_vectors(width * static_cast<int>(bytes));
}

VectorAccess map_vectors(const CallOperands& operands, std::int64_t columns) {
  const std::size_t axis = operands.rank() - 1;
  int width = widest;
  for (std::size_t k = 0; k < operands.outputs; ++k) {
    width = dense_width(operands, k, axis, width);
    width = aligned_width(places_of(operands, k, axis, {}), operands.itemsizes[k], width);
    width = own_width(operands, k, operands.itemsizes[k], width);
  }
  while (width > 1 && columns % width != 0) width /= 2;
  return input_vectors(operands, axis, width);
}

VectorAccess shifted_map_vectors(const CallOperands& operands) {
  for (std::size_t k = 0; k < operands.outputs; ++k) {
    if (operands.last_stride(k) != operands.itemsizes[k]) return {};
  }
  CallOperands inputs = operands;
  inputs.outputs = 0;
  VectorAccess access = shifted_vectors(inputs, operands.rank() - 1, widest);
  access.wide >>= operands.outputs;
  return access;
}

VectorAccess unaligned_map_vectors(const CallOperands& operands, std::int64_t rows,
                                   std::int64_t columns, int aligned) {
  const std::size_t axis = operands.rank() - 1;
  const auto has_gaps = [&](std::size_t k) {
    return k >= operands.outputs &&
           operands.stride(k, axis) == 2 * std::int64_t{operands.itemsizes[k]};
  };
  const auto is_back = [&](std::size_t k) {
    return k >= operands.outputs && is_backwards(operands, k, axis);
  };
  // a word of each row is enough for several rows a thread; few rows, some with gaps or backwards,
  // or such that are read where a position says are not
  const std::uint32_t bytes = static_cast<std::uint32_t>(aligned) * operands.itemsizes[0];
  constexpr std::int64_t few_rows = 32;
  bool is_useful = bytes < 4 || axis == 0 || (rows < few_rows && bytes < 8);
  for (std::size_t k = 0; k < operands.all.size(); ++k) {
    is_useful = is_useful || has_gaps(k) || (operands.is_side(k) && bytes < 8);
    is_useful = is_useful || (is_back(k) && bytes < 8);
    if (operands.is_side(k) && (has_gaps(k) || is_back(k))) return {};
  }
  if (operands.is_side(0) && !operands.writes_rows()) return {};
  WideInputs inputs(operands, axis);
  if (!is_useful || inputs.count() > most_with_gaps) return {};
  int width = widest;
  for (std::size_t k = 0; k < operands.all.size(); ++k) {
    const bool is_output = k < operands.outputs;
    if (!is_output && !inputs.moves(k)) continue;
    const std::uint32_t size = operands.itemsizes[k];
    const std::int64_t apart = std::abs(operands.stride(k, axis));
    if (!is_power_of_two(size) || (apart != size && !has_gaps(k))) return {};
    if (is_output && operands.stride(k, axis) < 0) return {};
    const std::uint64_t places = places_of(operands, k, axis, {}) | operands.own_strides(k);
    if (!is_multiple(places, std::uint64_t{size})) return {};
    width = std::min(width, static_cast<int>(16u / static_cast<std::uint32_t>(apart)));
    if (is_output) {  // as far from a vector as the first one
      if (size != operands.itemsizes[0]) return {};
      if (k > 0) width = aligned_width(places_of(operands, k, axis, 0), size, width);
    } else {
      if (!is_back(k)) inputs.add(k);
      if (has_gaps(k) || is_back(k)) inputs.add(k, kernels::input_access::other_step);
    }
  }
  while (width > 1 && columns < 4 * std::int64_t{width}) width /= 2;
  return width <= aligned ? VectorAccess{} : inputs.access(width, VectorPlaces::shifted);
}

VectorsAcross vectors_across(const CallOperands& operands, const Shape& shape) {
  const std::size_t axis = operands.rank() - 1;
  VectorsAcross access{.width = widest};
  const auto is_dense = [&](std::size_t k) {
    std::int64_t stride = operands.itemsizes[k];
    for (std::size_t d = axis + 1; d-- > 0; stride *= shape[d]) {
      if (operands.stride(k, d) != stride) return false;
    }
    return true;
  };
  if (axis == 0 || operands.all.size() - operands.outputs > most_wide_inputs) return {};
  bool has_sides = false;
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    has_sides = has_sides || operands.is_side(k);
  }
  for (std::size_t k = 0; k < operands.all.size(); ++k) {
    const std::uint32_t size = operands.itemsizes[k];
    const bool is_side = operands.is_side(k), moves = operands.stride(k, axis) != 0;
    const bool is_flat = !is_side && is_dense(k);
    if (!is_power_of_two(size) || (!is_flat && k < operands.outputs)) return {};
    if (has_sides && k >= operands.outputs && is_side != moves) return {};
    if (is_side && !is_multiple(operands.own_strides(k), std::uint64_t{size})) return {};
    const bool is_back = is_backwards(operands, k, axis);
    const int bit = k < operands.outputs ? 0 : 1 << (k - operands.outputs);
    if (is_back) {
      if (is_side || operands.all.size() - operands.outputs > most_with_gaps) return {};
      access.width = width_of(size, access.width);
    } else if (moves) {
      access.width = dense_width(operands, k, axis, access.width);
    }
    if (is_flat) {
      access.width = aligned_width(operands.address(k), size, access.width);
      access.flat |= bit;
    } else if (moves) {
      if (!is_multiple(places_of(operands, k, axis, {}), std::uint64_t{size})) return {};
      access.wide |= is_back ? bit << kernels::input_access::other_step : bit;
    }
  }
  const int half = access.width / 2;  // of four elements or more it is faster than single ones
  if (access.width > shape[axis] && half >= 4 && std::uint32_t(half) * operands.itemsizes[0] >= 8)
    access.width = half;
  return access.width < 2 || access.width > shape[axis] ? VectorsAcross{} : access;
}

VectorAccess aligned_vectors(const CallOperands& operands) {
  return moving(input_vectors(operands, operands.rank() - 1, widest));
}

VectorAccess piece_vectors(const CallOperands& operands, std::int64_t extent) {
  int width = widest;
  while (width > 1 && extent % width != 0) width /= 2;
  return moving(input_vectors(operands, operands.rank() - 1, width));
}

VectorAccess whole_pieces(const CallOperands& operands, std::int64_t extent) {
  const std::size_t axis = operands.rank() - 1;
  WideInputs inputs(operands, axis);
  const auto elements = static_cast<std::uint64_t>(extent);
  if (elements > widest || is_power_of_two(elements) || inputs.count() > most_wide_inputs)
    return {};
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (operands.is_side(k)) return {};
    if (!inputs.moves(k)) continue;
    const std::uint64_t size = operands.itemsizes[k], bytes = size * elements;
    if (!is_power_of_two(size) || operands.last_stride(k) != operands.itemsizes[k]) return {};
    if (!is_multiple(places_of(operands, k, axis, {}), kernels::vector_alignment(bytes))) return {};
    inputs.add(k);
  }
  return moving(inputs.access(static_cast<int>(extent), VectorPlaces::aligned));
}

VectorAccess row_vectors(const CallOperands& operands, std::size_t reduced_rank,
                         std::int64_t extent) {
  const VectorAccess aligned = piece_vectors(operands, extent);
  if (reduced_rank > 1) return aligned;
  const VectorAccess shifted = useful_shifted(operands, extent);
  return shifted.width > aligned.width ? shifted : aligned;
}

VectorAccess ragged_vectors(const CallOperands& operands, std::int64_t extent) {
  VectorAccess access = useful_shifted(operands, extent);
  access.places = VectorPlaces::ragged;
  return access;
}

VectorAccess run_vectors(const CallOperands& operands, std::int64_t extent) {
  VectorAccess access = useful_shifted(operands, extent);
  if (access.width > 1) access.places = VectorPlaces::run;
  return access;
}

VectorAccess select_vectors(const CallOperands& operands, const Shape& shape) {
  int width = widest;
  while (shape.size() > 1 && width > 1 && shape.back() % width != 0) width /= 2;
  return moving(input_vectors(operands, shape.size() - 1, width));
}

VectorAccess column_vectors(const CallOperands& operands, std::size_t axis, std::int64_t extent,
                            bool every_second, int most) {
  int width = most;
  while (width > 1 && extent % width != 0) width /= 2;
  return moving(input_vectors(operands, axis, width, every_second));
}

VectorAccess unaligned_column_vectors(const CallOperands& operands, std::size_t axis,
                                      std::int64_t extent, int aligned, int most) {
  constexpr std::uint32_t word = 4, bytes = 8;
  constexpr int least = 4;
  constexpr std::int64_t few = 8;  // vectors of a row
  WideInputs inputs(operands, axis);
  if (inputs.count() > most_wide_inputs) return {};
  std::uint32_t smallest = bytes, widest_item = 1;
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (operands.is_side(k)) return {};
    if (!inputs.moves(k)) continue;
    const std::uint32_t size = operands.itemsizes[k];
    if (!is_power_of_two(size) || operands.stride(k, axis) != size) return {};
    if (!is_multiple(places_of(operands, k, axis, {}), std::uint64_t{size})) return {};
    smallest = std::min(smallest, size), widest_item = std::max(widest_item, size);
    inputs.add(k);
  }
  int width = std::min(most, width_of(widest_item, static_cast<int>(bytes / smallest)));
  while (width > 1 && extent < few * width) width /= 2;
  if (width < least || static_cast<std::uint32_t>(aligned) * smallest >= word) return {};
  return moving(inputs.access(width, VectorPlaces::unaligned));
}

}  // namespace quarry::backend::cuda
