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

/// A launch of map_tiled<PROGRAM, rank, tile rank, read width, write width, wide, tiled>.
class TiledMap {
 public:
  explicit TiledMap(const Launch& launch)
      : launch_(launch), rank_(launch.rank()), tile_rank_(launch.argument(1)) {
    std::memcpy(static_cast<void*>(&tiling_), launch.more.data(), sizeof tiling_);
    for (int k = 0; k < launch.program->operands(); ++k) base_.push_back(memory_of(k));
  }

  CUresult run() {
    if (tile_rank_ < 1 || tile_rank_ > rank_) return illegal(launch_, "tiles have no such axes");
    for (int k = 0; k < launch_.program->operands(); ++k) {
      if (launch_.program->is_side[k]) return illegal(launch_, "a side operand of a tiled map");
      if (!base_[at(k)]) {
        return illegal(launch_, "operand " + std::to_string(k) + " is not in live memory");
      }
      if (!has_legal_accesses(k)) return misaligned(launch_);
    }
    if (has_parts_of_vectors()) return illegal(launch_, "vectors go beyond a part");
    if (elements(tiling_.read, rank_) != elements(tiling_.write, rank_)) {
      return illegal(launch_, "tiles are written that were not read");
    }
    for (const kernels::tile_walk* walk : {&tiling_.read, &tiling_.write}) {
      if (walk->lanes_log2 > 8) return illegal(launch_, "a row has more lanes than the block");
    }
    std::int64_t computed = 0;
    for (std::int64_t t = 0; t < launch_.grid_x; ++t) computed += run_tile(t);
    if (computed != launch_.word(block_places::kept)) {
      return illegal(launch_, "the tiles have " + std::to_string(computed) + " elements");
    }
    return CUDA_SUCCESS;
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

  char* memory_of(int k) const {
    std::int64_t lowest = 0, highest = 0;
    for (int axis = 0; axis < rank_; ++axis) {
      const std::int64_t reach = (axes(k)[axis].extent - 1) * stride(k, axis);
      (reach < 0 ? lowest : highest) += reach;
    }
    const CUdeviceptr from = launch_.pointer(k) + static_cast<std::uint64_t>(lowest);
    const auto bytes = static_cast<std::size_t>(highest - lowest) + launch_.program->itemsize[k];
    std::byte* const memory = state().memory.find(from, bytes, launch_.device);
    return memory ? reinterpret_cast<char*>(memory) - lowest : nullptr;
  }

  bool has_legal_accesses(int k) const {
    const int width = launch_.argument(is_tiled(k) ? 2 : 3), input = k - launch_.program->outputs;
    const bool is_wide = input < 0 || is_tiled(k) || (launch_.argument(4) >> input & 1) != 0;
    const std::uint32_t size = launch_.program->itemsize[k];
    const bool is_vector = width > 1 && is_wide;
    const auto unit = is_vector ? static_cast<std::uint64_t>(width) * size
                                : std::uint64_t{launch_.program->alignment[k]};
    std::uint64_t places = launch_.pointer(k);
    for (int axis = 0; axis < rank_; ++axis) {
      if (axes(k)[axis].extent == 1 || (is_vector && axis == rank_ - 1)) continue;
      places |= static_cast<std::uint64_t>(stride(k, axis));
    }
    if (places % unit != 0) return false;
    if (is_vector) return std::has_single_bit(size) && unit <= 16 && stride(k, rank_ - 1) == size;
    return width == 1 || stride(k, rank_ - 1) == 0;
  }

  bool has_parts_of_vectors() const {
    const auto is_cut = [](const tiled_axis& axis, int width) {
      return axis.extent % width != 0 || constant(axis) % width != 0;
    };
    return is_cut(tiling_.read.axis[rank_ - 1], launch_.argument(2)) ||
           is_cut(tiling_.write.axis[rank_ - 1], launch_.argument(3));
  }

  /// The position of element n of tile t along every axis; false if it is outside of the array.
  bool locate(Axes axes, std::int64_t t, std::int64_t n,
              std::vector<std::int64_t>& position) const {
    bool is_inside = true;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const tiled_axis& a = axes[axis];
      const std::int64_t part = a.every.quotient(static_cast<std::uint32_t>(t)) % a.parts.constant;
      const std::int64_t next = axis >= rank_ - tile_rank_ ? n / constant(a) : n;
      position[at(axis)] = part * constant(a) + (axis >= rank_ - tile_rank_ ? n % constant(a) : 0);
      is_inside = is_inside && position[at(axis)] < a.extent;
      n = next;
    }
    return is_inside && n == 0;
  }
  /// Where element n, in the order of writing, is in the order of reading.
  std::int64_t place(std::int64_t n) const {
    std::int64_t place = 0;
    for (int axis = rank_ - 1; axis >= rank_ - tile_rank_; --axis) {
      const tiled_axis& a = tiling_.write.axis[axis];
      place += n % constant(a) * a.pitch;
      n /= constant(a);
    }
    return place;
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
      if (!locate(tiling_.write.axis, t, n, write)) continue;
      if (!locate(tiling_.read.axis, t, place(n), read)) continue;
      for (int k = 0; k < launch_.program->operands(); ++k) {
        const auto& position = is_tiled(k) ? read : write;
        addresses[at(k)] = base_[at(k)];
        for (int axis = 0; axis < rank_; ++axis) {
          addresses[at(k)] += position[at(axis)] * stride(k, axis);
        }
      }
      backend::cpu_backend::map_run(*static_cast<const kernels::map_loops*>(launch_.program->loops),
                                    1, addresses.data(), none.data(), launch_.scalars(), 0);
      ++computed;
    }
    return computed;
  }

  const Launch& launch_;
  const int rank_, tile_rank_;
  kernels::tiling tiling_;
  std::vector<char*> base_;
};

}  // namespace

CUresult run_tiled(const Launch& launch) { return TiledMap(launch).run(); }

}  // namespace quarry::fake
