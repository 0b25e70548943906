// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/emulated_kernels.hpp"

#include <map>
#include <unordered_map>
#include <utility>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/reduce_axes.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/plain_loops.hpp"

/// The variants of the kernels of a reduction, as host code.
namespace quarry::test {

using namespace quarry::kernels;
using backend::cuda::Reduce;
using backend::cuda::Variant;

/// `arrived` and `lanes` are for those that finish.
using ReduceKernel = void (*)(const u64* words, void* partial, u32* arrived, int lanes);
using ReduceKernels = std::unordered_map<Variant, ReduceKernel, HashOfVariant>;

/// What kernels accumulate in, and the most columns of a thread.
template <class M>
using accumulator_of = typename reduce_body<exact_t<M>, 1, 1, i32, 0, 1, 0>::acc_type;
template <class M>
constexpr int most_columns_of(bool unaligned) {
  return backend::cuda::most_columns(sizeof(accumulator_of<M>), !is_same<exact_t<M>, M>, unaligned);
}

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
void run_reduce(const u64* words, void* partial, u32*, int) {
  typename reduce_body<M, Rk, Rr, Index, Along, V, Wide>::param_type p;
  std::memcpy(&p, words, sizeof p);
  reduce<M, Rk, Rr, sizeof(Index), Along, V, Wide>(p, partial, 0);
}

/// Reductions of watched elements have kernels for all ranks. Of the others, which differ in their
/// accumulators, there are those that differ most.
template <class M>
inline constexpr bool reads_watched = false;
template <class E, class Op, class Acc, class Out, int S, class... In>
inline constexpr bool reads_watched<reduction_of<E, Op, Acc, Out, S, In...>> = (is_watched<In> ||
                                                                                ...);
template <class M>
constexpr bool has_ranks(std::size_t kept, std::size_t reduced) {
  return reads_watched<M> || kept == 3 || (kept == 2) == (reduced == 2);
}

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
void add(ReduceKernels& all) {
  all[Reduce{Rk, Rr, sizeof(Index), Along, V, int{Wide}}] =
      run_reduce<M, Rk, Rr, Index, Along, V, Wide>;
}
template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
void add_ranked(ReduceKernels& all) {
  if constexpr (has_ranks<M>(Rk, Rr)) add<M, Rk, Rr, Index, Along, V, Wide>(all);
}

template <class M, int Rk, int Rr, class Index, int Along>
void run_reduce_and_finish(const u64* words, void* partial, u32* arrived, int lanes) {
  typename reduce_body<M, Rk, Rr, Index, Along, 1, 0>::param_type p;
  std::memcpy(&p, words, sizeof p);
  reduce_and_finish<M, Rk, Rr, sizeof(Index), Along>(p, partial, arrived, lanes, 0);
}
template <class M, int Rk, int Rr, class Index, int Along>
void add_finishing(ReduceKernels& all) {
  if constexpr (has_ranks<M>(Rk, Rr)) {
    all[Reduce{Rk, Rr, sizeof(Index), Along, 1, 0, true}] =
        run_reduce_and_finish<M, Rk, Rr, Index, Along>;
  }
}

/// Sums and moments of bytes, which are packed by four, and means of 2 bytes have vectors of every
/// width. Others have the widest and pairs, which are all there are of elements of 4 bytes.
template <class M>
inline constexpr bool has_all_widths = false;
template <class E, class Acc, class Out, int S>
inline constexpr bool has_all_widths<reduction_of<E, sum_of, Acc, Out, S, i8>> = true;
template <class E, class Acc, class Out, int S>
inline constexpr bool has_all_widths<reduction_of<E, moments_of, Acc, Out, S, u8>> = true;
template <class E, class Acc, class Out, int S>
inline constexpr bool has_all_widths<reduction_of<E, mean_of, Acc, Out, S, u16>> = true;
template <class M>
constexpr bool has_width(int width, int widest) {
  return has_all_widths<M> || width == widest || width <= 2;
}

/// With the widths below V too; a set of inputs that move is never empty.
template <class M, unsigned AllWide, int Widest, int V, unsigned Wide>
void add_widths(ReduceKernels& all) {
  if constexpr (V > 1 && !has_width<M>(V, Widest)) {
    add_widths<M, AllWide, Widest, V / 2, AllWide>(all);
  } else if constexpr (V > 1) {
    add_ranked<M, 0, 1, i32, 1, V, Wide>(all);
    add_ranked<M, 0, 1, i64, 2, V, Wide>(all);
    add_ranked<M, 1, 1, i32, 2, V, Wide>(all);
    add_ranked<M, 2, 1, i64, 2, V, Wide>(all);
    add_ranked<M, 0, 2, i64, 1, V, Wide>(all);
    add_ranked<M, 1, 1, i64, 1, V, Wide>(all);
    add_ranked<M, 2, 1, i32, 1, V, Wide>(all);
    add_ranked<M, 1, 2, i32, 1, V, Wide>(all);
    add_ranked<M, 2, 2, i64, 1, V, Wide>(all);
    add_ranked<M, 1, 1, i32, 3, V, Wide>(all);
    add_ranked<M, 2, 1, i64, 3, V, Wide>(all);
    add_ranked<M, 1, 2, i64, 3, V, Wide>(all);
    add_ranked<M, 2, 2, i32, 3, V, Wide>(all);
    if constexpr (V <= 8) {
      constexpr unsigned gaps = Wide | Wide << input_access::other_step;
      add_ranked<M, 0, 1, i32, 2, V, gaps>(all);
      add_ranked<M, 1, 1, i64, 2, V, gaps>(all);
      add_ranked<M, 2, 1, i32, 2, V, gaps>(all);
    }
    if constexpr (V <= 4) {
      add_ranked<M, 1, 1, i32, 0, V, Wide>(all);
      add_ranked<M, 2, 1, i64, 0, V, Wide>(all);
      add_ranked<M, 1, 2, i64, 0, V, Wide>(all);
      add_ranked<M, 2, 2, i32, 0, V, Wide>(all);
      add_ranked<M, 2, 1, i32, 4, V, Wide>(all);
      add_ranked<M, 2, 2, i64, 4, V, Wide>(all);
      add_ranked<M, 3, 1, i64, 4, V, Wide>(all);
      add_ranked<M, 3, 1, i32, 5, V, Wide>(all);
    }
    if constexpr (Wide > 1) {
      add_widths<M, AllWide, Widest, V, Wide - 1>(all);
    } else {
      add_widths<M, AllWide, Widest, V / 2, AllWide>(all);
    }
  }
}

template <class M, int Widest, unsigned AllWide>
const ReduceKernels& kernels_of() {
  static const ReduceKernels found = [] {
    ReduceKernels all;
    add_ranked<M, 0, 1, i32, 1, 1, 0>(all);
    add_ranked<M, 1, 1, i32, 1, 1, 0>(all);
    add_ranked<M, 2, 1, i64, 1, 1, 0>(all);
    add_ranked<M, 0, 2, i64, 1, 1, 0>(all);
    add_ranked<M, 1, 2, i32, 1, 1, 0>(all);
    add_ranked<M, 2, 2, i32, 1, 1, 0>(all);
    add_ranked<M, 0, 1, i32, 0, 1, 0>(all);
    add_ranked<M, 1, 1, i64, 0, 1, 0>(all);
    add_ranked<M, 2, 1, i32, 0, 1, 0>(all);
    add_ranked<M, 0, 2, i32, 0, 1, 0>(all);
    add_ranked<M, 1, 2, i64, 0, 1, 0>(all);
    add_ranked<M, 2, 2, i32, 0, 1, 0>(all);
    add_ranked<M, 2, 1, i64, 4, 1, 0>(all);
    add_ranked<M, 2, 2, i32, 4, 1, 0>(all);
    add_ranked<M, 3, 1, i32, 4, 1, 0>(all);
    add_ranked<M, 3, 1, i64, 5, 1, 0>(all);
    add_finishing<M, 0, 1, i32, 1>(all);
    add_finishing<M, 1, 1, i32, 1>(all);
    add_finishing<M, 1, 2, i64, 0>(all);
    add_widths<M, AllWide, Widest, Widest, AllWide>(all);
    if constexpr (Widest > 1 && AllWide == 1) {  // whole pieces
      add_ranked<M, 1, 1, i64, 3, 3, 1>(all);
      add_ranked<M, 2, 1, i32, 3, 3, 1>(all);
      add_ranked<M, 1, 2, i32, 3, 3, 1>(all);
      add_ranked<M, 2, 2, i64, 3, 3, 1>(all);
    }
    return all;
  }();
  return found;
}

using FinishKernel = void (*)(const u64* words, void* partial, i64 splits);
using FinishKernels = std::map<std::pair<int, int>, FinishKernel>;

template <class M, int Rk, int Rr>
void run_finish(const u64* words, void* partial, i64 splits) {
  typename reduce_finish_body<M, Rk, Rr>::param_type p;
  std::memcpy(&p, words, sizeof p);
  reduce_finish<M, Rk, Rr>(p, partial, splits);
}
template <class M>
const FinishKernels& finishes_of() {
  static const FinishKernels all{
      {{0, 1}, run_finish<M, 0, 1>}, {{1, 1}, run_finish<M, 1, 1>}, {{2, 1}, run_finish<M, 2, 1>},
      {{3, 1}, run_finish<M, 3, 1>}, {{0, 2}, run_finish<M, 0, 2>}, {{1, 2}, run_finish<M, 1, 2>},
      {{2, 2}, run_finish<M, 2, 2>}, {{3, 2}, run_finish<M, 3, 2>}, {{1, 3}, run_finish<M, 1, 3>}};
  return all;
}

}  // namespace quarry::test
