// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <cstddef>

namespace quarry::memory {

/// Bytes of a run from which on its start does not matter to its speed.
constexpr std::size_t long_run = 512;

/// Host memory walked in the order of its addresses: runs of `run` bytes without gaps, one for each
/// element of `shape`, whose strides (bytes, positive, the largest first) lead from run to run. The
/// runs one after another are the packed form of the memory. Dense memory is one run of rank 0.
struct Walk {
  Shape shape;
  Strides strides;
  std::size_t run = 0;

  std::size_t bytes() const { return run * static_cast<std::size_t>(element_count(shape)); }
  bool is_dense() const { return shape.empty(); }
  /// Whether copying it costs no more than copying dense memory.
  bool has_long_runs() const { return is_dense() || run >= long_run; }
};

/// The walk of elements of `itemsize` bytes with these strides, all positive.
Walk walk_of(Shape shape, Strides strides, std::size_t itemsize);

/// Whether bytes are stored in the cache, or non-temporally: for a device to read, or because they
/// are more than caches hold.
enum class Stores { cached, nontemporal };
/// Copies bytes [first, last) of the packed form of the memory at `from` to `to`.
void pack(const Walk& walk, const std::byte* from, std::size_t first, std::size_t last,
          std::byte* to, Stores stores = Stores::cached);
/// The reverse: bytes [first, last) of the packed form, which are at `from`, go to their places in
/// the memory at `to`. Nothing between the runs is touched. Only dense memory is stored
/// non-temporally.
void unpack(const Walk& walk, std::byte* to, std::size_t first, std::size_t last,
            const std::byte* from, Stores stores = Stores::cached);

/// Calls f(run) with the start of every run, in order.
template <class F>
void for_each_run(const Walk& walk, std::byte* memory, F&& f) {
  Shape index = Shape::filled(walk.shape.size(), 0);
  while (true) {
    std::byte* at = memory;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * walk.strides[d];
    f(at);
    std::size_t d = index.size();
    for (; d > 0 && ++index[d - 1] == walk.shape[d - 1]; --d) index[d - 1] = 0;
    if (d == 0) return;
  }
}

}  // namespace quarry::memory
