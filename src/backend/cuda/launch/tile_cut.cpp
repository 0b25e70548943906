// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tile_cut.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "backend/cuda/launch/grid.hpp"
#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {

Order writing_order(std::size_t rank) {
  Order order{.rank = rank};
  std::iota(order.axis.begin(), order.axis.end(), std::size_t{0});
  return order;
}

namespace {

/// The axes by the strides of operand k, those along which it does not move first.
Order reading_order(const CallOperands& operands, std::size_t k) {
  Order order = writing_order(operands.rank());
  const auto distance = [&](std::size_t axis) { return std::abs(operands.stride(k, axis)); };
  const auto is_before = [&](std::size_t a, std::size_t b) {
    if (distance(a) == 0 || distance(b) == 0) return distance(a) < distance(b);
    return distance(a) > distance(b);
  };
  // axes of equal distance keep their order; std::stable_sort would allocate memory
  for (std::size_t sorted = 1; sorted < order.rank; ++sorted) {
    for (std::size_t i = sorted; i > 0 && is_before(order.axis[i], order.axis[i - 1]); --i) {
      std::swap(order.axis[i - 1], order.axis[i]);
    }
  }
  return order;
}

/// How many elements of the output are from the first to the last of those in a sector of input k.
std::int64_t spread_of_sector(const CallOperands& operands, const Shape& shape, std::size_t k) {
  constexpr std::int64_t sector = 32;
  const Order order = reading_order(operands, k);
  std::int64_t last = std::max(sector / operands.itemsizes[k], std::int64_t{1}) - 1;
  std::int64_t farthest = 0, all = 0;  // of the elements up to the last one, and of all, so far
  for (std::size_t i = 0; i < order.rank && last > 0; ++i) {
    const std::size_t axis = order.fastest(i);
    const bool is_outermost = i + 1 == order.rank;
    const std::int64_t digit = is_outermost ? std::min(last, shape[axis] - 1) : last % shape[axis];
    std::int64_t apart = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) apart *= shape[d];
    if (digit > 0) farthest = std::max(digit * apart + farthest, (digit - 1) * apart + all);
    all += (shape[axis] - 1) * apart;
    last /= shape[axis];
  }
  return farthest + 1;
}

/// Whether threads along the last axis would read input k in pieces of less than a sector, and no
/// other threads near them read the rest of it.
bool needs_tiles(const CallOperands& operands, const Shape& shape, std::size_t k) {
  const std::uint32_t size = operands.itemsizes[k];
  if (!is_power_of_two(size) || size > 16 || operands.last_stride(k) == 0) return false;
  return spread_of_sector(operands, shape, k) > (size < 4 ? 40 : 64);
}

}  // namespace

TiledInputs tiled_inputs(const CallOperands& operands, const Shape& shape) {
  TiledInputs tiled;
  for (std::size_t k = 0; k < operands.outputs; ++k) {
    tiled.widest = std::max(tiled.widest, operands.itemsizes[k]);
  }
  if (!is_power_of_two(tiled.widest) || tiled.widest > 16) return {};
  const std::size_t end = std::min(operands.all.size(), operands.outputs + 16);
  for (std::size_t k = operands.outputs; k < end; ++k) {
    if (!needs_tiles(operands, shape, k)) continue;
    const Order order = reading_order(operands, k);
    if (tiled.set != 0 && order.axis != tiled.order.axis) continue;
    const std::uint32_t size = operands.itemsizes[k], widest = std::max(tiled.widest, size);
    const std::uint32_t bytes = tiled.bytes + size,
                        space = kernels::tile_space(widest, tiled.count + 1);
    if (bytes * space > kernels::most_tile_bytes) continue;
    if (tiled.set == 0) tiled.leader = k, tiled.order = order;
    tiled.set |= 1u << (k - operands.outputs);
    ++tiled.count;
    tiled.widest = widest;
    tiled.bytes = bytes;
  }
  return tiled;
}

namespace {

/// Multiples of 16, so that vectors lie in one part.
std::int64_t rounded(std::int64_t size) {
  if (size >= 16) return size / 16 * 16;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

}  // namespace

std::int64_t elements_of(const Cut& cut, const Shape& shape) {
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) elements *= cut.size[axis];
  return elements;
}

namespace {

/// Makes tiles have about `wanted` consecutive elements in this order: whole axes, where several
/// have up to twice as many. A tile has at most `most`.
void extend(Cut& cut, const Shape& shape, const Order& order, std::int64_t wanted,
            std::int64_t most) {
  std::int64_t run = 1;
  for (std::size_t i = 0; i < order.rank && run < wanted; ++i) {
    const std::size_t axis = order.fastest(i);
    const bool is_whole = run > 1 && run * shape[axis] <= 2 * wanted;
    const std::int64_t others = elements_of(cut, shape) / cut.size[axis];
    const std::int64_t size = std::min(is_whole ? shape[axis] : wanted / run, most / others);
    cut.size[axis] = std::max(cut.size[axis], size < shape[axis] ? rounded(size) : shape[axis]);
    run *= cut.size[axis];
    if (cut.size[axis] < shape[axis]) return;
  }
}

/// Makes tiles larger along axes that are cut, until they have up to `most` elements.
void grow(Cut& cut, const Shape& shape, std::int64_t most) {
  std::int64_t elements = elements_of(cut, shape);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = most / (elements / cut.size[axis]);
    if (size < 2 * cut.size[axis]) continue;
    elements /= cut.size[axis];
    cut.size[axis] = size < shape[axis] ? rounded(size) : shape[axis];
    elements *= cut.size[axis];
  }
}

/// Parts of one size as far as possible, of whole sectors where rows are long.
void even_parts(Cut& cut, const Shape& shape, std::int64_t sector) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t& size = cut.size[axis];
    const std::int64_t unit = size % sector == 0 && shape[axis] > 4 * sector ? sector : 16;
    const std::int64_t least = divide_up(shape[axis], divide_up(shape[axis], size));
    if (size < shape[axis] && size % unit == 0) size = divide_up(least, unit) * unit;
  }
}

}  // namespace

void count_parts(Cut& cut, const Shape& shape, const Order& reading) {
  constexpr std::int64_t few = 16;  // so that those of the next rows of writing are near too
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    cut.parts[axis] = divide_up(shape[axis], cut.size[axis] - cut.before[axis]);
  }
  std::size_t first = shape.size() - 1;
  for (std::size_t i = 0; i < reading.rank; ++i) {
    const std::int64_t parts = cut.parts[reading.fastest(i)];
    if (parts <= few) first = reading.fastest(i);
    if (parts > 1) break;
  }
  cut.every[first] = 1, cut.count = cut.parts[first];
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (axis == first) continue;
    cut.every[axis] = cut.count;
    if (cut.count > std::numeric_limits<std::int32_t>::max()) return;
    cut.count *= cut.parts[axis];
  }
}

Cut cut_into(const Shape& shape, const TiledInputs& tiled, std::int64_t write, std::int64_t read) {
  Cut cut{};
  cut.size.fill(1);
  extend(cut, shape, writing_order(shape.size()), write, write * read);
  extend(cut, shape, tiled.order, read, write * read);
  grow(cut, shape, write * read);
  even_parts(cut, shape, std::max<std::int64_t>(kernels::tile_sector / tiled.widest, 16));
  return cut;
}

namespace {

/// How often the L2 cache looks for a line, for each one's worth of bytes in runs of so many, which
/// begin at any multiple of `unit`: for every line that has something of a run.
double line_accesses(std::int64_t run, std::uint32_t unit) {
  return lines_of(run, unit) * line_bytes / static_cast<double>(run);
}

}  // namespace

double accesses_of(const Cut& cut, const CallOperands& operands, const Shape& shape,
                   const TiledInputs& tiled, const LineCosts& costs) {
  const auto unit_of = [&](const Run& run) {
    return costs.know_lines ? run.unit : run.at_sectors() ? kernels::tile_sector : 1;
  };
  const Run read = run_of(cut, operands, shape, tiled.order, tiled.leader),
            write = run_of(cut, operands, shape, writing_order(shape.size()), 0);
  const auto inputs = static_cast<double>(tiled.count),
             others = static_cast<double>(operands.all.size()) - inputs;
  const double reads = inputs * line_accesses(read.bytes, unit_of(read)),
               writes = others * line_accesses(write.bytes, unit_of(write));
  if (write.at_sectors()) return reads + writes;
  const std::int64_t part = cut.size[write.last], before = overlap_of(write, cut, shape);
  if (before == 0)
    return reads + writes + costs.ends * line_bytes / static_cast<double>(write.bytes);
  const double again = static_cast<double>(part) / static_cast<double>(part - before);
  const std::int64_t kept = write.bytes / part * (part - before);
  return again * reads + others * line_accesses(kept, kernels::tile_sector);
}

namespace {

/// The length of rows that tiles have unless another one is better.
std::int64_t usual_row(const TiledInputs& tiled) {
  return !tiled.are_words() ? 128 : tiled.widest <= 8 ? 64 : 32;
}

/// The cost of a copy by such tiles: the accesses to lines, and what waits for others where tiles
/// are not full. Of less than a word, instructions matter more than that.
double cost_of(Cut cut, const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
               std::int64_t most) {
  const double accesses = accesses_of(cut, operands, shape, tiled, {});
  if (!tiled.are_words()) return accesses;
  count_parts(cut, shape, tiled.order);
  const auto elements = static_cast<double>(element_count(shape)),
             places = static_cast<double>(cut.count) * static_cast<double>(most);
  return accesses * (1.5 - elements / places / 2);
}

/// The length of rows with the least cost. Of words, another one than usual is clearly better.
std::int64_t best_row(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
                      std::int64_t most) {
  const std::int64_t usual = usual_row(tiled), row = shape.back(),
                     longest = tiled.are_words() ? most / 8 : 512;
  const auto cost = [&](std::int64_t length) {
    return cost_of(cut_into(shape, tiled, length, most / length), operands, shape, tiled, most);
  };
  std::int64_t best = usual;
  double least = cost(usual) * (tiled.are_words() ? 0.97 : 1);
  const auto consider = [&](std::int64_t length) {
    if (length > longest) return;
    const double its = cost(length);
    if (its < least) least = its, best = length;
  };
  for (const int quarters : {5, 6, 8, 9}) consider(usual / 4 * quarters);
  consider(row);
  if (!tiled.are_words()) return best;
  for (const int rows : {2, 4, 8}) consider(rows * row);
  for (const int halves : {1, 6}) consider(usual / 2 * halves);
  return best;
}

}  // namespace

Run run_of(const Cut& cut, const CallOperands& operands, const Shape& shape, const Order& order,
           std::size_t k) {
  Run run{.bytes = operands.itemsizes[k], .unit = 1, .last = order.fastest(0)};
  auto places = static_cast<std::uint64_t>(operands.address(k));
  bool is_whole = true;
  for (std::size_t i = 0; i < order.rank; ++i) {
    const std::size_t axis = order.fastest(i);
    if (shape[axis] == 1) continue;
    std::int64_t step = operands.stride(k, axis);
    if (is_whole && step == run.bytes) {
      run.bytes *= cut.size[axis];
      run.last = axis;
      is_whole = cut.size[axis] == shape[axis];
      if (is_whole) continue;
      step = run.bytes;
    } else {
      is_whole = false;
    }
    places |= static_cast<std::uint64_t>(step);
  }
  run.unit = std::min(1u << std::min(std::countr_zero(places), 31), 128u);
  return run;
}

std::int64_t overlap_of(const Run& run, const Cut& cut, const Shape& shape) {
  const std::int64_t part = cut.size[run.last], bytes = run.bytes / part;
  if (part == shape[run.last] || bytes == 0)
    return 0;  // 0: the elements are not next to each other
  const std::int64_t before = divide_up(std::int64_t{kernels::tile_sector}, bytes);
  return 4 * before <= part ? before : 0;
}

void overlap(Cut& cut, const Shape& shape, const Order& reading, std::size_t axis,
             std::int64_t before) {
  cut.before[axis] = before;
  count_parts(cut, shape, reading);
}

bool is_large(const Shape& shape, const TiledInputs& tiled, int multiprocessors) {
  const std::int64_t full = kernels::most_tile_elements(tiled.widest, tiled.count);
  return element_count(shape) >= multiprocessors * full;
}

Cut cut_of(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
           int multiprocessors, bool is_large) {
  const std::int64_t most = kernels::most_tile_elements(tiled.widest, tiled.count);
  std::int64_t write = is_large ? best_row(operands, shape, tiled, most) : usual_row(tiled),
               read = most / write;
  if (!is_large && tiled.are_words()) {
    // whole rows rather than a part and a rest, if those of the other order stay long
    const std::int64_t row = shape.back();
    if (row > write && 4 * rounded(most / row) >= 3 * read) write = row, read = most / row;
  }
  for (;;) {
    Cut cut = cut_into(shape, tiled, write, read);
    count_parts(cut, shape, tiled.order);
    if (cut.count >= multiprocessors || write * read <= 512) return cut;
    (write > read ? write : read) /= 2;
  }
}

}  // namespace quarry::backend::cuda
