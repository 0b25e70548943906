// SPDX-License-Identifier: BSD-3-Clause
// Kernels of every family, for a test in which nvcc compiles this file. Needs no GPU.
#include "kernels/bincount.cuh"
#include "kernels/join.cuh"
#include "kernels/map.cuh"
#include "kernels/map_across.cuh"
#include "kernels/map_masked_rows.cuh"
#include "kernels/map_parted.cuh"
#include "kernels/map_scatter.cuh"
#include "kernels/map_scatter_rows.cuh"
#include "kernels/map_scatter_singles.cuh"
#include "kernels/map_tiled.cuh"
#include "kernels/map_unaligned.cuh"
#include "kernels/reduce.cuh"
#include "kernels/reduce_few.cuh"
#include "kernels/reduce_slabs.cuh"
#include "kernels/reduce_staged.cuh"
#include "kernels/rows.cuh"
#include "kernels/select.cuh"
#include "tests/kernels/texture_calls.cuh"

namespace quarry::kernels {

template <class T>
using copied_map = map_of<in<T, 0>, T, 0, T>;
template <class T>
using fused = op<add_op, T, op<sin_op, T, in<T, 0>>, op<multiply_op, T, in<T, 1>, val<T, 0>>>;
template <class T>
using fused_map = map_of<fused<T>, T, 1, T, T>;
using two_outputs = map_of<several<fused<float>, op<less_op, float, in<float, 0>, in<float, 1>>>,
                           several<double, bool>, 1, float, float>;
using positions = map_of<iota<i64>, i64, 0>;

using looked_up =
    map_of<pick<double, 1, place<index_mode::from_end, 0, in<u8, 0>>>, double, 1, u8, side<double>>;

template <class F, class T>
using scattered =
    map_of<into<F, in<T, 0>, place<index_mode::from_end, 0, in<i64, 1>>>, side<T>, 1, T, i64>;
using added_at = scattered<combined<add_op>, i16>;
using written_rows = scattered<replaced, float>;
using marked_places = map_of<into<marked, val<u32, 1>, place<index_mode::from_end, 0, in<i64, 0>>>,
                             side<u32>, 2, i64>;

template <class T>
using picked = pick<T, 0, place<index_mode::from_end, 0, in<i64, 1>>>;
using gathered = map_of<picked<u8>, u8, 1, side<u8>, i64>;
using gathered_sum =
    map_of<op<add_op, double, picked<double>, in<double, 2>>, double, 1, side<double>, i64, double>;
using written_wide = scattered<replaced, complex<double>>;

/// The root of a mean, which is applied before it is stored.
using root = op<sqrt_op, float, op<add_op, float, result<float>, val<float, 0>>>;
using root_of_mean =
    reduction_of<in<float16, 0>, applied_to<mean_of, float, root>, float, float, 1, float16>;
template <class T>
using product = reduction_of<in<T, 0>, prod_of, T, T, 0, T>;
using location = reduction_of<in<float, 0>, argmax_of, located<float>, i64, 0, float>;
template <class T>
using variance = reduction_of<in<T, 0>, moments_of, moments<T>, real_type<T>, 0, T>;
using sum_of_exponentials = reduction_of<cast<float, in<float16, 0>>, exponentials_of,
                                         exponentials<float>, float16, 0, float16>;
using byte_location = reduction_of<in<i8, 0>, argmin_of, located<i8>, i64, 0, i8>;
using byte_sum = reduction_of<in<i8, 0>, sum_of, i64, i64, 0, i8>;
using byte_variance =
    reduction_of<cast<double, in<u8, 0>>, moments_of, moments<double>, double, 0, u8>;
using softmax = rows_of<in<float, 0>, softmax_of<float>, float, 1, float>;
using half_softmax = rows_of<cast<float, in<float16, 0>>, softmax_of<float>, float16, 1, float16>;
using standardised = rows_of<in<double, 0>, standardise_of<double, 0>, double, 1, double>;
using digits = bincount_of<op<remainder_op, i32, in<i32, 0>, val<i32, 0>>, 2, i32>;
using bytes = bincount_of<in<u8, 0>, 1, u8>;

using kept = select_of<op<greater_op, float, in<float, 0>, val<float, 0>>, in<float, 1>, float,
                       false, 1, float, float>;
using kept_bytes = select_of<in<bool, 0>, in<u8, 1>, u8, false, 0, bool, u8>;
using kept_positions = select_of<in<bool, 0>, iota<i64>, i64, false, 0, bool>;
using in_order = select_of<in<bool, 0>, pick<float, 1, place<index_mode::clip, 0, iota<i64>>>,
                           float, true, 1, bool, side<float>>;
using kept_rows = select_of<in<bool, 0>, in<double, 1>, double, false, 0, bool, double>;
using ones_where_true = map_of<guarded<in<bool, 0>, val<double, 0>>, double, 1, bool>;
using bytes_where_true = map_of<guarded<in<bool, 0>, val<u8, 0>>, u8, 1, bool>;
using where_true = map_of<guarded<in<bool, 0>, in<float, 1>>, float, 0, bool, float>;

using copied_rows =
    map_of<pick<i16, 0, place<index_mode::clip, 0, in<i64, 1>>>, i16, 1, side<i16>, i64>;

template <class T>
using checked_rows =
    map_of<pick<T, 0, place<index_mode::from_end, 0, in<i32, 1>>>, T, 1, side<T>, i32>;

template <class M, int V>
using flat_params = typename map_flat_body<M, V>::param_type;
template <class M, int R, int IndexBytes, int Rows, int V, unsigned Wide>
using strided_params =
    typename map_strided_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type;
template <class M, int R, int IndexBytes, int Rows, int V, unsigned Wide>
using unaligned_params =
    typename map_unaligned_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type;
template <class M, int V, unsigned Wide>
using singles_params = typename map_scatter_singles_body<M, V, Wide>::param_type;
template <class M, int V, unsigned Wide>
using parted_params = typename map_parted_body<M, V, Wide>::param_type;
template <class M, int R, int IndexBytes, int V, unsigned Wide, unsigned Flat>
using across_params =
    typename map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::param_type;
template <class M, int R, int Dr, int Dw, int V, unsigned Wide, unsigned Tiled, int Rows>
using tiled_params = typename map_tiled_body<M, R, Dr, Dw, V, Wide, Tiled, Rows>::param_type;
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V, unsigned Wide>
using reduce_params =
    typename reduce_body<M, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>::param_type;
template <class M, int Rk, int Rr, int IndexBytes, unsigned Wide, int Lanes, int Segments,
          int Count>
using staged_params = typename reduce_staged_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Wide,
                                                  Lanes, Segments, Count>::param_type;
template <class M, int Rk, int IndexBytes>
using slab_params = typename reduce_slabs_body<exact_t<M>, Rk, index_of<IndexBytes>>::param_type;
template <class M, int V, unsigned Wide>
using bincount_params = typename bincount_body<M, V, Wide>::param_type;
template <class M, int Rk, int Rr>
using finish_params = typename reduce_finish_body<M, Rk, Rr>::param_type;

template <class M, int R, int IndexBytes, int V, unsigned Wide>
using select_params = typename select_body<M, R, index_of<IndexBytes>, V, Wide>::param_type;

#define QUARRY_SELECT(M, ...)                                \
  template __global__ void select<M, __VA_ARGS__>(           \
      const __grid_constant__ select_params<M, __VA_ARGS__>, \
      const __grid_constant__ select_marks);
#define QUARRY_FLAT(M, ...)                          \
  template __global__ void map_flat<M, __VA_ARGS__>( \
      const __grid_constant__ flat_params<M, __VA_ARGS__>, int);
#define QUARRY_MASKED_ROWS(M)                                      \
  template __global__ void map_masked_rows<M>(                     \
      const __grid_constant__ map_masked_rows_body<M>::param_type, \
      const __grid_constant__ masked_rows);
#define QUARRY_STRIDED(M, ...)                          \
  template __global__ void map_strided<M, __VA_ARGS__>( \
      const __grid_constant__ strided_params<M, __VA_ARGS__>, int);
#define QUARRY_SCATTER(M, ...)                          \
  template __global__ void map_scatter<M, __VA_ARGS__>( \
      const __grid_constant__ strided_params<M, __VA_ARGS__>, int);
#define QUARRY_UNALIGNED(M, ...)                          \
  template __global__ void map_unaligned<M, __VA_ARGS__>( \
      const __grid_constant__ unaligned_params<M, __VA_ARGS__>, int);
#define QUARRY_SCATTER_ROWS(M, ...)                          \
  template __global__ void map_scatter_rows<M, __VA_ARGS__>( \
      const __grid_constant__ unaligned_params<M, __VA_ARGS__>, int);
#define QUARRY_SCATTER_SINGLES(M, ...)                          \
  template __global__ void map_scatter_singles<M, __VA_ARGS__>( \
      const __grid_constant__ singles_params<M, __VA_ARGS__>, i64*);
#define QUARRY_PARTED(M, ...)                          \
  template __global__ void map_parted<M, __VA_ARGS__>( \
      const __grid_constant__ parted_params<M, __VA_ARGS__>, const __grid_constant__ parted);
#define QUARRY_ACROSS(M, ...)                          \
  template __global__ void map_across<M, __VA_ARGS__>( \
      const __grid_constant__ across_params<M, __VA_ARGS__>, int);
#define QUARRY_TILED(M, ...)                          \
  template __global__ void map_tiled<M, __VA_ARGS__>( \
      const __grid_constant__ tiled_params<M, __VA_ARGS__>, const __grid_constant__ tiling, int);
#define QUARRY_REDUCE(M, ...)                      \
  template __global__ void reduce<M, __VA_ARGS__>( \
      const __grid_constant__ reduce_params<M, __VA_ARGS__>, void*, int);
#define QUARRY_REDUCE_AND_FINISH(M, ...)                      \
  template __global__ void reduce_and_finish<M, __VA_ARGS__>( \
      const __grid_constant__ reduce_params<M, __VA_ARGS__>, void*, u32*, int, int);
#define QUARRY_REDUCE_FEW(M, Count, ...)                      \
  template __global__ void reduce_few<M, __VA_ARGS__, Count>( \
      const __grid_constant__ reduce_params<M, __VA_ARGS__>, int);
#define QUARRY_REDUCE_STAGED(M, ...)                      \
  template __global__ void reduce_staged<M, __VA_ARGS__>( \
      const __grid_constant__ staged_params<M, __VA_ARGS__>, void*, int);
#define QUARRY_REDUCE_SLABS(M, ...)                                                             \
  template __global__ void reduce_slabs<M, __VA_ARGS__>(                                        \
      const __grid_constant__ slab_params<M, __VA_ARGS__>, const __grid_constant__ slab_stages, \
      int);
#define QUARRY_BINCOUNT(M, ...)                                 \
  template __global__ void bincount_private<M, __VA_ARGS__>(    \
      const __grid_constant__ bincount_params<M, __VA_ARGS__>); \
  template __global__ void bincount_direct<M, __VA_ARGS__>(     \
      const __grid_constant__ bincount_params<M, __VA_ARGS__>);
#define QUARRY_JOIN(M, ...)                                                              \
  template __global__ void join<M, __VA_ARGS__>(const __grid_constant__ params<1, 0, 0>, \
                                                const __grid_constant__ join_parts);
#define QUARRY_ROWS(M, Count, ...)                      \
  template __global__ void rows<M, __VA_ARGS__, Count>( \
      const __grid_constant__ rows_params<M, __VA_ARGS__>);
#define QUARRY_ROW_PARTS(M, ...)                                   \
  template __global__ void rows_partial<M, __VA_ARGS__>(           \
      const __grid_constant__ rows_params<M, __VA_ARGS__>, void*); \
  template __global__ void rows_apply<M, __VA_ARGS__>(             \
      const __grid_constant__ rows_params<M, __VA_ARGS__>, const void*);
#define QUARRY_FINISH(M, ...)                             \
  template __global__ void reduce_finish<M, __VA_ARGS__>( \
      const __grid_constant__ finish_params<M, __VA_ARGS__>, const void*, i64);

QUARRY_FLAT(fused_map<float>, 4)
QUARRY_FLAT(fused_map<float16>, 8)
QUARRY_FLAT(fused_map<complex<double>>, 1)
QUARRY_FLAT(two_outputs, 2)
QUARRY_FLAT(positions, 2)
QUARRY_FLAT(where_true, 4)
QUARRY_FLAT(ones_where_true, 2)
QUARRY_MASKED_ROWS(ones_where_true)
QUARRY_MASKED_ROWS(bytes_where_true)
QUARRY_SELECT(kept, 1, 4, 4, 3)
QUARRY_SELECT(kept, 3, 8, 1, 0)
QUARRY_SELECT(kept_bytes, 2, 4, 16, 2)
QUARRY_SELECT(kept_rows, 2, 4, 1, 0)
QUARRY_SELECT(kept_positions, 1, 8, 8, 1)
QUARRY_SELECT(in_order, 1, 4, 16, 1)
QUARRY_STRIDED(fused_map<float>, 1, 4, 1, 1, 0)
QUARRY_STRIDED(fused_map<float>, 2, 4, 8, 4, 1)
QUARRY_STRIDED(fused_map<double>, 3, 8, 4, 1, 0)
QUARRY_STRIDED(two_outputs, 2, 4, 4, 2, 3)
QUARRY_STRIDED(looked_up, 2, 4, 2, 2, 1)
QUARRY_SCATTER(added_at, 1, 8, 4, 1, 0)
QUARRY_SCATTER(written_rows, 2, 4, 2, 4, 1)
QUARRY_SCATTER_SINGLES(added_at, 2, 3)
QUARRY_SCATTER_SINGLES(written_rows, 1, 0)
QUARRY_SCATTER_SINGLES(marked_places, 2, 1)
QUARRY_SCATTER_ROWS(written_rows, 2, 4, 2, 4, 1)
QUARRY_PARTED(gathered, 2, 2)
QUARRY_PARTED(gathered_sum, 2, 6)
QUARRY_PARTED(written_rows, 2, 3)
QUARRY_PARTED(written_wide, 1, 0)
QUARRY_UNALIGNED(looked_up, 2, 4, 2, 2, 2)
QUARRY_UNALIGNED(fused_map<float>, 1, 8, 1, 4, 1)
QUARRY_UNALIGNED(two_outputs, 2, 4, 2, 4, 0x10003)
QUARRY_ACROSS(fused_map<i8>, 2, 4, 16, 1, 2)
QUARRY_ACROSS(two_outputs, 3, 8, 2, 1, 0)
QUARRY_ACROSS(copied_rows, 2, 4, 8, 1, 0)
QUARRY_ACROSS(checked_rows<i16>, 3, 8, 8, 1, 0)
QUARRY_UNALIGNED(checked_rows<i8>, 2, 4, 2, 16, 1)
QUARRY_STRIDED(checked_rows<float>, 2, 4, 2, 4, 1)
QUARRY_JOIN(join_of<u8>, 1, 4, 1)
QUARRY_JOIN(join_of<u32>, 2, 8, 0)
QUARRY_TILED(fused_map<float>, 2, 2, 2, 4, 2, 1, 0)
QUARRY_TILED(fused_map<i8>, 4, 3, 2, 1, 0, 3, 21)
QUARRY_TILED(two_outputs, 3, 2, 3, 2, 1, 2, 0)
QUARRY_TILED(fused_map<i8>, 2, 2, 1, 16, 2, 1, 10)
QUARRY_TILED(fused_map<i8>, 3, 2, 3, 8, 2, 1, 46)
QUARRY_TILED(copied_map<i8>, 2, 1, 2, 16, 0, 1, 64)
QUARRY_TILED(copied_map<u16>, 3, 2, 2, 8, 0, 1, 66)
QUARRY_REDUCE(root_of_mean, 1, 1, 4, 1, 8, 1)
QUARRY_REDUCE(root_of_mean, 1, 2, 4, 0, 4, 1)
QUARRY_REDUCE_AND_FINISH(root_of_mean, 1, 1, 4, 2, 8, 1)
QUARRY_FINISH(root_of_mean, 1, 1)
QUARRY_REDUCE(product<i32>, 2, 1, 4, 2, 4, 1)
QUARRY_REDUCE(product<i32>, 1, 2, 8, 0, 1, 0)
QUARRY_FINISH(product<i32>, 2, 2)
QUARRY_REDUCE(location, 0, 1, 4, 1, 4, 1)
QUARRY_REDUCE_AND_FINISH(location, 1, 1, 4, 2, 4, 1)
QUARRY_FINISH(location, 1, 1)
QUARRY_REDUCE(byte_location, 1, 1, 4, 1, 16, 1)
QUARRY_REDUCE(location, 0, 2, 4, 1, 4, 1)
QUARRY_REDUCE(byte_location, 1, 2, 4, 1, 16, 1)
QUARRY_REDUCE(byte_location, 2, 2, 8, 4, 4, 1)
QUARRY_REDUCE(byte_sum, 3, 1, 4, 5, 1, 0)
QUARRY_REDUCE(byte_sum, 1, 2, 4, 3, 4, 1)
QUARRY_REDUCE(byte_sum, 1, 1, 4, 0, 8, 1)
QUARRY_REDUCE(byte_location, 1, 1, 4, 0, 4, 1)
QUARRY_REDUCE(byte_location, 1, 1, 4, 2, 8, 0x10001)
QUARRY_REDUCE(byte_sum, 1, 1, 4, 2, 16, 1)
QUARRY_REDUCE(byte_sum, 1, 1, 4, -1, 4, 1)
QUARRY_REDUCE(byte_sum, 2, 2, 8, -1, 4, 0x10001)
QUARRY_REDUCE(byte_sum, 1, 1, 4, -4, 8, 1)
QUARRY_REDUCE(byte_location, 2, 2, 8, -4, 4, 1)
QUARRY_REDUCE(byte_sum, 1, 1, 4, -5, 8, 1)
QUARRY_REDUCE(byte_sum, 2, 3, 8, -5, 8, 1)
QUARRY_REDUCE(byte_sum, 1, 2, 4, -2, 8, 0x10001)
QUARRY_REDUCE(byte_location, 0, 3, 8, -2, 16, 1)
QUARRY_REDUCE(byte_location, 0, 3, 4, -3, 16, 1)
QUARRY_REDUCE(byte_location, 1, 2, 8, -3, 8, 0x10001)
QUARRY_REDUCE(location, 0, 2, 4, -3, 4, 1)
QUARRY_REDUCE(byte_variance, 1, 1, 4, 2, 8, 0x10001)
QUARRY_REDUCE(byte_variance, 1, 1, 4, 0, 4, 1)
QUARRY_REDUCE(byte_variance, 1, 1, 4, -4, 4, 1)
QUARRY_REDUCE_FEW(byte_variance, 4, 1, 1, 4, 0, 8, 0x10001)
QUARRY_REDUCE_FEW(byte_sum, 1, 2, 1, 4, 0, 1, 0)
QUARRY_REDUCE_FEW(byte_location, 5, 1, 1, 4, -4, 4, 1)
QUARRY_REDUCE_FEW(byte_variance, 3, 2, 1, 8, -4, 4, 1)
QUARRY_REDUCE_FEW(location, 7, 1, 1, 8, 3, 1, 0)
QUARRY_REDUCE_FEW(byte_location, 3, 1, 2, 4, 3, 16, 1)
QUARRY_REDUCE_FEW(location, 3, 3, 1, 4, 4, 2, 1)
QUARRY_REDUCE_SLABS(byte_variance, 2, 4)
QUARRY_REDUCE_SLABS(location, 3, 8)
QUARRY_REDUCE_STAGED(byte_variance, 1, 2, 4, 1, 1, 2, 2)
QUARRY_REDUCE_STAGED(byte_sum, 2, 3, 8, 0x10001, 4, 1, 3)
QUARRY_REDUCE_STAGED(variance<float>, 1, 1, 4, 1, 2, 1, 4)
QUARRY_REDUCE_STAGED(variance<complex<float>>, 1, 2, 4, 1, 4, 1, 4)
QUARRY_REDUCE(variance<float>, 1, 1, 4, 1, 4, 1)
QUARRY_REDUCE(variance<float>, 1, 1, 4, 0, 4, 1)
QUARRY_REDUCE_AND_FINISH(variance<float>, 1, 2, 4, -2, 4, 1)
QUARRY_FINISH(variance<float>, 1, 1)
QUARRY_REDUCE(variance<complex<double>>, 0, 1, 8, 1, 1, 0)
QUARRY_REDUCE(sum_of_exponentials, 1, 1, 4, 1, 8, 1)
QUARRY_FINISH(sum_of_exponentials, 1, 1)
QUARRY_ROWS(softmax, 8, 1, 4, 1, 4, 1)
QUARRY_ROWS(softmax, 32, 1, 4, 1, 1, 0)
QUARRY_ROWS(softmax, 0, 1, 4, 1, 4, 1)
QUARRY_ROWS(softmax, 8, 2, 4, 0, 4, 1)
QUARRY_ROW_PARTS(softmax, 1, 4, 1, 4, 1)
QUARRY_ROWS(half_softmax, 4, 1, 4, 1, 8, 1)
QUARRY_ROWS(standardised, 8, 1, 8, 1, 2, 1)
QUARRY_ROWS(standardised, 0, 1, 8, 0, 1, 0)
QUARRY_BINCOUNT(digits, 4, 1)
QUARRY_BINCOUNT(bytes, 16, 1)
QUARRY_BINCOUNT(bytes, 1, 0)

}  // namespace quarry::kernels
