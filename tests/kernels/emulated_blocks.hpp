// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// CUDA's blocks on the host: every CUDA thread is a fibre of the calling thread. A block's threads
/// run in an order that a seed draws, each up to its next barrier or shuffle, so that a barrier
/// that is missing shows. Blocks run in a drawn order too, one after another, or several at once,
/// each by a thread of the host with shared memory of its own.
namespace quarry::test {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct Grid {
  Dim3 grid, block;
  unsigned at_once = 1;  ///< blocks
};

/// Runs `thread` once for every thread of the grid, with threadIdx and the others set. Returns what
/// CUDA leaves undefined: barriers and shuffles that not all threads reach, shuffles that disagree.
/// `thread` must not throw.
std::vector<std::string> launch(const Grid& grid, std::uint64_t seed,
                                const std::function<void()>& thread);

/// What the running thread is told of itself.
struct Position {
  Dim3 thread, block, grid_size, block_size;
};
const Position& position();

void barrier();
std::uint32_t shuffle_down(std::uint32_t mask, std::uint32_t value, unsigned distance, int width);
std::uint32_t shuffle_up(std::uint32_t mask, std::uint32_t value, unsigned distance, int width);
/// The value of a lane of the whole warp.
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, unsigned lane);
std::uint32_t shuffle_xor(std::uint32_t mask, std::uint32_t value, unsigned lanes);
std::uint32_t largest_of_warp(std::uint32_t mask, std::uint32_t value);
std::uint32_t smallest_of_warp(std::uint32_t mask, std::uint32_t value);
/// A bit for each thread of the warp.
std::uint32_t ballot(std::uint32_t mask, bool value);
/// The threads of the warp that have the same value.
std::uint32_t match_any(std::uint32_t mask, std::uint64_t value);
template <class T>
T atomic_add(T* to, T value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
/// Returns what was there: `desired` is there now if that is `expected`.
template <class T>
T compare_and_swap(T* at, T expected, T desired) {
  __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
/// Replaces a value by what `next` makes of it, and returns what it was. Other blocks may run.
template <class T, class Next>
T atomic_change(T* at, const Next& next) {
  T was = __atomic_load_n(at, __ATOMIC_RELAXED);
  for (;;) {
    const T found = compare_and_swap(at, was, next(was));
    if (found == was) return was;
    was = found;
  }
}
/// 0 comes after `most`.
template <class T>
T atomic_increment(T* to, T most) {
  return atomic_change(to, [=](T was) { return was >= most ? T(0) : T(was + 1); });
}
template <class T>
T atomic_or(T* to, T value) {
  return __atomic_fetch_or(to, value, __ATOMIC_RELAXED);
}
template <class T>
T atomic_max(T* to, T value) {
  return atomic_change(to, [=](T was) { return was < value ? value : was; });
}

}  // namespace quarry::test
