// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/located.cuh"
#include "kernels/narrow.cuh"
#include "kernels/params.cuh"
#include "kernels/reduce_places.cuh"
#include "kernels/vector.cuh"

/// What a thread of a reduction takes at once, and how many accesses it has in flight.
namespace quarry::kernels {

/// The arguments are those of reduce_body.
template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_batches;
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_batches<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr;
  static constexpr bool is_ragged = Along == -2, is_run = Along == -3;
  using P = params<K, S, R>;
  using Share = reduce_share<P, Index, Along, V, Rk>;
  static constexpr bool threads_along = Share::threads_along, is_along = Share::is_along;
  static constexpr int outputs = Share::outputs, taken = is_along ? V : 1;  // of one access
  using Lane = lane_context<P, V, Wide, In...>;
  using Value = typename before_cast<E, typename value_of<Acc>::type, Acc, Lane>::type;
  using Fold = thread_fold<Op, Acc, value_in<Value, Lane>, is_along>;
  using Part = typename Fold::type;
  using Element = typename Fold::value_type;
  using Reducer = typename Fold::reducer;
  static constexpr bool takes_batches = Reducer::takes_batches;
  static constexpr bool takes_some = requires(Part & a, const Element (&v)[V]) {
    Reducer::take_some(a, v, 0, 1);
  };
  /// Four outputs at once, of bytes.
  static constexpr bool takes_columns =
      !is_along && outputs % 4 == 0 && is_byte<Element> && requires(Part * a, const u32 (&row)[4]) {
    Reducer::template take_columns<Element>(a, row);
  };
  /// Several outputs at once, which have taken equally many elements.
  static constexpr bool takes_alike = outputs > 1 &&
                                      requires(Part* a, const Element (&v)[outputs][2]) {
    Reducer::take_alike(a, v);
  };
  /// So much that a warp should not do it for whole vectors and for others.
  static constexpr bool merges_some = takes_some && Fold::most == 0;
  /// So much that several vectors are one batch. A user function would be called for what is in
  /// accesses without elements of the row, which are not loaded.
  static constexpr bool joins_some = merges_some && !calls_user_functions<E>;
  static constexpr bool is_short = sizeof...(In) == 1 && ((sizeof(In) <= 2) && ...);
  /// The axes of an extreme are walked as they are in memory. The strides of the output along them
  /// are those of positions, in elements.
  static constexpr bool is_scattered = Rr > 1 && is_located<Acc>;
  /// Loads in flight per thread: enough bytes, in batches enough elements.
  static constexpr u64 bytes = sizeof(loaded<V, Wide, 0, In...>);
  static constexpr bool is_light = bytes <= 8 || (is_short && sizeof(Part) <= 4);
  /// Exact moments, whose loads compilers put one by one between the elements, if there are few.
  static constexpr bool are_powers = takes_columns && is_same<Part, narrow_powers<Element>>;
  static constexpr int of_columns = bytes <= 4 || (are_powers && outputs == 4) ? 16
                                    : is_light                                 ? 8
                                                                               : 4;
  static constexpr int unroll = V == 1      ? is_short && takes_batches ? 16 : 8
                                : !is_along ? of_columns
                                            : (V > 8 && V < 16 ? 2 : 4);
  /// A thread finds the vector where the extreme of its share is, and the first thread of an output
  /// then looks for its place there.
  static constexpr bool seeks_vectors = is_along && V > 1 && is_located<Acc> && !is_scattered;
  static constexpr int chains = outputs > 1 || takes_batches ? 1 : unroll;  // dependent additions
  /// Whether the loads of the next batch are issued before the elements of this one are taken. The
  /// compiler would take the first elements of a batch before it loads the last ones. Of inputs as
  /// they are: in rows within the registers of four blocks, in eight columns of bytes of three.
  static constexpr bool is_ahead_in_rows = threads_along && V > 1 && !is_ragged && is_input<E> &&
                                           !is_scattered && !merges_some && unroll * bytes <= 64 &&
                                           chains * sizeof(Part) <= 64;
  static constexpr bool is_ahead_in_columns =
      takes_columns && outputs == 8 && is_input<E> &&
      sizeof(Part) <= (has_unaligned_columns<Along> ? 8 : 4);
  static constexpr bool is_ahead = is_ahead_in_rows || is_ahead_in_columns;
  /// Blocks that the registers of a multiprocessor are for, which costs these nothing; 0 is any.
  static constexpr int resident = is_ahead_in_rows || (takes_alike && outputs > 4) ? 4
                                  : seeks_vectors                                  ? 8
                                  : are_powers && outputs == 8                     ? 3
                                                                                   : 0;
};

}  // namespace quarry::kernels
