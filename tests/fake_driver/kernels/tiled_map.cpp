// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/tiled_map.hpp"

#include <bit>
#include <cstring>

#include <quarry/kernels/map.hpp>

#include "backend/cpu/runs.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;
using kernels::tiled_axis;

/// A launch of map_tiled<PROGRAM, rank, read rank, write rank, width, wide, tiled, rows>.
class TiledMap {
 public:
  explicit TiledMap(const Launch& launch)
      : launch_(launch),
        rank_(launch.rank()),
        read_rank_(launch.argument(1)),
        write_rank_(launch.argument(2)) {
    std::memcpy(static_cast<void*>(&tiling_), launch.more.data(), sizeof tiling_);
    for (int k = 0; k < launch.program->operands(); ++k) base_.push_back(memory_of(k));
  }

  CUresult run() {
    for (const int tile_rank : {read_rank_, write_rank_}) {
      if (tile_rank < 1 || tile_rank > rank_) return illegal(launch_, "tiles have no such axes");
    }
    for (int k = 0; k < launch_.program->operands(); ++k) {
      if (launch_.program->is_side(static_cast<std::size_t>(k)))
        return illegal(launch_, "a side operand of a tiled map");
      if (!base_[at(k)]) {
        return illegal(launch_, "operand " + std::to_string(k) + " is not in live memory");
      }
      if (!has_legal_accesses(k)) return misaligned(launch_);
      if (are_alike() && !is_like_first(k)) {
        return illegal(launch_, "operand " + std::to_string(k) + " lies unlike the first output");
      }
    }
    if (is_turned() ? has_wrong_runs() : has_wrong_places()) {
      return illegal(launch_, "a tile does not fit");
    }
    if (has_parts_of_vectors()) return illegal(launch_, "vectors go beyond a part");
    if (tiling_.write.row_step == 0 &&
        elements(tiling_.read, rank_) != elements(tiling_.write, rank_)) {
      return illegal(launch_, "tiles are written that were not read");
    }
    for (const kernels::tile_walk* walk : {&tiling_.read, &tiling_.write}) {
      if (walk->lanes_log2 > 8) return illegal(launch_, "a row has more lanes than the block");
      const int in_tile = walk == &tiling_.read ? read_rank_ : write_rank_;
      if (goes_elsewhere(*walk, in_tile)) return illegal(launch_, "a thread leaves its rows");
    }
    std::int64_t computed = 0;
    for (std::int64_t t = 0; t < launch_.grid_x; ++t) computed += run_tile(t);
    if (reads_elsewhere_) return illegal(launch_, "a run is not where its elements are");
    if (computed != launch_.word(block_places::kept)) {
      return illegal(launch_, "the tiles have " + std::to_string(computed) + " elements");
    }
    return CUDA_SUCCESS;
  }

  Bytes bytes_of(int k) const {
    return bytes_reached(launch_.pointer(k), launch_.program->itemsize[k], rank_, [&](int axis) {
      return has_rows_of_last(k, axis) ? 0 : (axes(k)[axis].extent - 1) * stride(k, axis);
    });
  }

 private:
  using Axes = const tiled_axis*;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool is_tiled(int k) const {
    const int input = k - launch_.program->outputs;
    return input >= 0 && (launch_.argument(5) >> input & 1) != 0;
  }
  Axes axes(int k) const { return is_tiled(k) ? tiling_.read.axis : tiling_.write.axis; }
  std::int64_t stride(int k, int axis) const {
    return launch_.word(launch_.places().strides() + k * rank_ + axis);
  }
  static std::int64_t constant(const tiled_axis& axis) { return axis.size.constant; }

  /// Whether the axis is not one of the operand, but of rows along the last one.
  bool has_rows_of_last(int k, int axis) const {
    return !is_tiled(k) && tiling_.write.row_step > 0 && axis == rank_ - 2;
  }
  char* memory_of(int k) const {
    const Bytes bytes = bytes_of(k);
    std::byte* const memory =
        state().memory.find(bytes.begin, bytes.end - bytes.begin, launch_.device);
    return memory ? reinterpret_cast<char*>(memory) + (launch_.pointer(k) - bytes.begin) : nullptr;
  }

  /// Bytes read at once of elements of less than 4.
  int word() const {
    constexpr int words[] = {0, 4, 16, 8};
    return words[(launch_.argument(6) & 1) + (launch_.argument(6) & 8) / 4];
  }
  bool is_shifted() const { return (launch_.argument(6) & 2) != 0; }
  bool is_listed() const { return (launch_.argument(6) & 4) != 0; }
  bool is_turned() const { return (launch_.argument(6) & 64) != 0; }
  bool are_alike() const { return (launch_.argument(6) & 32) != 0; }
  bool is_like_first(int k) const {
    if (is_tiled(k)) return true;
    for (int axis = rank_ - write_rank_; axis < rank_; ++axis) {
      if (stride(k, axis) != stride(0, axis)) return false;
    }
    return true;
  }

  bool has_legal_accesses(int k) const {
    const std::uint32_t size = launch_.program->itemsize[k];
    if (is_tiled(k)) {
      const bool is_legal = word() == 0 || size >= 4 || has_legal_words(k);
      return is_legal && places(k, false) % launch_.program->alignment[k] == 0;
    }
    const int width = launch_.argument(3), input = k - launch_.program->outputs;
    const bool is_wide = input < 0 || (launch_.argument(4) >> input & 1) != 0;
    const bool is_vector = width > 1 && is_wide;
    const auto unit = is_vector && !is_shifted() ? static_cast<std::uint64_t>(width) * size
                                                 : std::uint64_t{launch_.program->alignment[k]};
    if (places(k, is_vector) % unit != 0) return false;
    if (is_vector && is_shifted() && !is_as_far_as_first(k)) return false;
    if (is_vector) {
      return std::has_single_bit(size) && unsigned(width) * size <= 16 &&
             stride(k, rank_ - 1) == size;
    }
    return width == 1 || stride(k, rank_ - 1) == 0;
  }
  /// Rows are dense; words of the tile are words of memory, and rows have words of their own.
  bool has_legal_words(int k) const {
    const std::uint32_t size = launch_.program->itemsize[k];
    if (stride(k, rank_ - 1) != size) return false;
    for (int axis = rank_ - read_rank_; axis < rank_ - 1; ++axis) {
      const tiled_axis& a = tiling_.read.axis[axis];
      if (constant(a) == 1) continue;
      const std::int64_t pitch = std::int64_t{a.pitch} * size;
      if ((pitch - stride(k, axis)) % word() != 0) return false;
      const tiled_axis& inner = tiling_.read.axis[axis + 1];
      if (pitch <
          constant(inner) * inner.pitch * size + (axis == rank_ - 2 ? 2 * (word() - int(size)) : 0))
        return false;
    }
    return true;
  }
  /// Address and strides, but for the last axis of vectors: what they are all multiples of.
  std::uint64_t places(int k, bool is_vector) const {
    std::uint64_t places = launch_.pointer(k);
    for (int axis = 0; axis < rank_; ++axis) {
      if (axes(k)[axis].extent == 1 || (is_vector && axis == rank_ - 1)) continue;
      places |= static_cast<std::uint64_t>(stride(k, axis));
    }
    return places;
  }
  /// Whether every row is as far from a vector as that of the first output.
  bool is_as_far_as_first(int k) const {
    const std::uint64_t vector =
        std::uint64_t{launch_.program->itemsize[k]} * static_cast<unsigned>(launch_.argument(3));
    std::uint64_t apart = launch_.pointer(k) - launch_.pointer(0);
    for (int axis = 0; axis < rank_ - 1; ++axis) {
      if (axes(k)[axis].extent == 1) continue;
      apart |= static_cast<std::uint64_t>(stride(k, axis) - stride(0, axis));
    }
    return launch_.program->itemsize[k] == launch_.program->itemsize[0] && apart % vector == 0;
  }

  /// Whether threads that go from row to row, as the kernel does, are at other places than theirs.
  bool goes_elsewhere(const kernels::tile_walk& walk, int in_tile) const {
    const int first = rank_ - in_tile;
    if (in_tile == 1) return walk.axis[first].next == 0;  // it would not end
    const std::int64_t step = 256 >> walk.lanes_log2;
    const auto place_of = [&](std::int64_t row) {
      std::int64_t place = 0;
      for (int axis = rank_ - 2; axis >= first; --axis) {
        const tiled_axis& a = walk.axis[axis];
        const std::int64_t at = axis == first ? row : row % constant(a);
        place += at * a.pitch;
        row /= constant(a);
      }
      return place;
    };
    for (std::int64_t begin = 0; begin < std::min<std::int64_t>(step, walk.rows); ++begin) {
      std::vector<std::int64_t> at(std::size_t(rank_), 0);
      std::int64_t rest = begin, place = place_of(begin);
      for (int axis = rank_ - 2; axis >= first; --axis) {
        const std::int64_t size = constant(walk.axis[axis]);
        at[std::size_t(axis)] = axis == first ? rest : rest % size;
        rest /= size;
      }
      for (std::int64_t row = begin; row < walk.rows; row += step) {
        if (place != place_of(row)) return true;
        place += walk.axis[first].next_place;
        for (int axis = rank_ - 2; axis >= first; --axis) {
          const tiled_axis& a = walk.axis[axis];
          std::int64_t& position = at[std::size_t(axis)];
          position += a.next;
          if (axis == first || position < constant(a)) continue;
          position -= constant(a);
          ++at[std::size_t(axis) - 1];
          place += a.next_place;
        }
      }
    }
    return false;
  }
  bool has_parts_of_vectors() const {
    const tiled_axis& a = tiling_.write.axis[rank_ - 1];
    const int width = launch_.argument(3);
    if (is_shifted()) return false;
    return a.extent % width != 0 || constant(a) % width != 0 || a.step % unsigned(width) != 0;
  }
  /// Whether the elements of a tile are in the shared memory, each at a place of its own.
  bool has_wrong_places() const {
    std::uint32_t widest = 1, count = 0, bytes = 0;
    for (int k = 0; k < launch_.program->operands(); ++k) {
      if (k >= launch_.program->outputs && !is_tiled(k)) continue;
      widest = std::max(widest, launch_.program->itemsize[k]);
      if (!is_tiled(k)) continue;
      ++count;
      bytes += launch_.program->itemsize[k];
    }
    std::int64_t end = 1;
    for (int axis = rank_ - 1; axis >= rank_ - read_rank_; --axis) {
      const tiled_axis& a = tiling_.read.axis[axis];
      if (constant(a) > 1 && a.pitch < end) return true;
      end = std::max(end, constant(a) * a.pitch);
    }
    const std::int64_t space = kernels::tile_space(widest, count);
    if (is_listed() && constant(tiling_.write.axis[rank_ - 1]) > kernels::most_row_elements) {
      return true;
    }
    return space * bytes > kernels::most_tile_bytes || end > space;
  }

  /// Whether a tile that is turned has another input than one of one or two bytes, parts of runs
  /// that are missing, or words that are beyond the shared memory.
  bool has_wrong_runs() const {
    int input = -1;
    for (int k = 0; k < launch_.program->operands(); ++k) {
      if (!is_tiled(k)) continue;
      if (input >= 0) return true;
      input = k;
    }
    const std::uint32_t size = launch_.program->itemsize[input],
                        runs = tiling_.write.axis[rank_ - 1].size.constant,
                        rows = tiling_.write.rows, parts = tiling_.turned.parts.constant;
    if (size > 2 || word() != 0 || is_listed() || tiling_.write.row_step > 0) return true;
    if (launch_.argument(3) * static_cast<int>(size) < 8) return true;
    using namespace kernels;
    const std::uint32_t read = turned_runs * tiling_.turned.groups;
    if (read < runs || read > most_turned_runs || turned_part * parts < rows * size) return true;
    if (4 * tiling_.turned.pitch < read * size) return true;
    const std::uint32_t written = turned_part / size * parts;  // rows
    const std::uint32_t bytes = turned_front + written * tiling_.turned.pitch * 4 +
                                parts * turned_skew + 32;  // behind the last element
    return bytes > turned_bytes;
  }

  /// The position of element n of tile t along every axis; false if it is outside of the array, or
  /// in the tile before too.
  bool locate(const kernels::tile_walk& walk, std::int64_t t, std::int64_t n,
              std::vector<std::int64_t>& position) const {
    bool is_inside = true, is_first = true;
    std::int64_t in_row = 0;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const tiled_axis& a = walk.axis[axis];
      const std::int64_t part = a.every.quotient(static_cast<std::uint32_t>(t)) % a.parts.constant;
      const bool has_several = axis >= rank_ - (&walk == &tiling_.read ? read_rank_ : write_rank_);
      const std::int64_t in_part = has_several ? n % constant(a) : 0;
      position[at(axis)] = part * a.step + in_part - a.before;
      if (axis == rank_ - 1) in_row = in_part;
      if (axis == rank_ - 2 && walk.row_step > 0) {  // of the last axis
        position[at(axis)] = 0;
        position[at(axis + 1)] += in_part * walk.row_step;
        is_inside = in_row + in_part * walk.row_step < walk.axis[axis + 1].step;
      }
      is_first = is_first && in_part >= a.before;
      n = has_several ? n / constant(a) : n;
    }
    for (int axis = 0; axis < rank_; ++axis) {
      const std::int64_t p = position[at(axis)];
      is_inside = is_inside && p >= 0 && p < walk.axis[axis].extent;
    }
    return is_inside && is_first && n == 0;
  }
  /// Which element in the order of reading is element n in the order of writing.
  std::int64_t place(std::int64_t n) const {
    std::int64_t place = 0;
    for (int axis = rank_ - 1; axis >= rank_ - write_rank_; --axis) {
      const tiled_axis& a = tiling_.write.axis[axis];
      const bool has_list = axis == rank_ - 1 && (is_listed() || is_turned());
      place += has_list ? place_in_row(n % constant(a)) : n % constant(a) * a.pitch;
      n /= constant(a);
    }
    std::int64_t element = 0;
    for (int axis = rank_ - read_rank_; axis < rank_; ++axis) {
      const tiled_axis& a = tiling_.read.axis[axis];
      if (constant(a) == 1) continue;
      element = element * constant(a) + place / a.pitch;
      place %= a.pitch;
    }
    return element;
  }
  std::int64_t place_in_row(std::int64_t n) const {
    std::int64_t place = 0;
    for (std::uint32_t axis = 0; axis < tiling_.row_axes; ++axis) {
      place += n % tiling_.row[axis].size.constant * tiling_.row[axis].pitch;
      n /= tiling_.row[axis].size.constant;
    }
    return place;
  }
  /// Where the kernel reads element n, in the order of writing, of a tile that is turned.
  char* address_in_run(int k, std::int64_t t, std::int64_t n) const {
    char* address = base_[at(k)];
    for (int axis = 0; axis < rank_; ++axis) {
      const tiled_axis& a = tiling_.read.axis[axis];
      const std::int64_t part = a.every.quotient(static_cast<std::uint32_t>(t)) % a.parts.constant;
      address += (part * a.step - a.before) * stride(k, axis);
    }
    const std::int64_t runs = constant(tiling_.write.axis[rank_ - 1]);
    std::int64_t run = n % runs;
    for (std::uint32_t axis = 0; axis < tiling_.row_axes; ++axis) {
      address += run % tiling_.row[axis].size.constant * tiling_.row[axis].stride;
      run /= tiling_.row[axis].size.constant;
    }
    std::int64_t row = 0;
    n /= runs;
    for (int axis = rank_ - 2; axis >= rank_ - write_rank_; --axis) {
      row += n % constant(tiling_.write.axis[axis]) * tiling_.write.axis[axis].pitch;
      n /= constant(tiling_.write.axis[axis]);
    }
    return address + row * launch_.program->itemsize[k];
  }
  static std::int64_t elements(const kernels::tile_walk& walk, int rank) {
    return walk.rows * constant(walk.axis[rank - 1]);
  }

  /// The number of elements computed.
  std::int64_t run_tile(std::int64_t t) {
    std::vector<std::int64_t> read(at(rank_)), write(at(rank_));
    std::vector<char*> addresses(base_.size());
    const std::vector<std::int64_t> none(base_.size(), 0);
    std::int64_t computed = 0;
    for (std::int64_t n = 0; n < elements(tiling_.write, rank_); ++n) {
      if (!locate(tiling_.write, t, n, write)) continue;
      if (!locate(tiling_.read, t, place(n), read)) continue;
      for (int k = 0; k < launch_.program->operands(); ++k) {
        const auto& position = is_tiled(k) ? read : write;
        addresses[at(k)] = base_[at(k)];
        for (int axis = 0; axis < rank_; ++axis) {
          addresses[at(k)] += position[at(axis)] * stride(k, axis);
        }
        if (is_turned() && is_tiled(k) && addresses[at(k)] != address_in_run(k, t, n)) {
          reads_elsewhere_ = true;
        }
      }
      backend::cpu_backend::map_run(*static_cast<const kernels::map_loops*>(launch_.program->loops),
                                    1, addresses.data(), none.data(), launch_.scalars(), 0);
      ++computed;
    }
    return computed;
  }

  const Launch& launch_;
  const int rank_, read_rank_, write_rank_;
  kernels::tiling tiling_;
  std::vector<char*> base_;
  bool reads_elsewhere_ = false;
};

}  // namespace

CUresult run_tiled(const Launch& launch) { return TiledMap(launch).run(); }

Bytes bytes_of_tiled(const Launch& launch, int operand) {
  return TiledMap(launch).bytes_of(operand);
}

}  // namespace quarry::fake
