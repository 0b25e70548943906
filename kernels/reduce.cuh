// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_body.cuh"
#include "kernels/reduce_finish.cuh"

/// The kernels of reductions.
namespace quarry::kernels {

/// A block has at most 256 threads; along reduced axes blockDim.x is a power of two. V > 1 is for
/// inputs that are read by vectors along an axis (see Wide in vector.cuh) or have the stride 0
/// along it:
/// - Along = 0, -1, 4 + n: the last kept axis; V divides its extent, and vectors are aligned;
/// - Along = -4, -5: the last kept axis, of V elements or more; vectors begin at any element;
/// - Along = 1, 3: the last reduced axis; V divides its extent and the chunks, and vectors are
///   aligned; of 3 they may be all of the axis, and of any number of elements;
/// - Along = 2: the only reduced axis; V divides the chunks, and at every output the inputs are
///   equally far from an aligned vector;
/// - Along = -3: as 2, of several reduced axes, along which the inputs are one run;
/// - Along = -2: the last reduced axis; V divides the chunks, and in every row the inputs are
///   equally far from an aligned vector.
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(
    256, reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>::resident)
    reduce(const __grid_constant__ typename reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>,
                                                        Along, V, Wide>::param_type p,
           void* partial, int order) {
  using Body = reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial), order);
}

/// The same for few partial accumulators, and what reduce_finish does with them, by the block that
/// is done last: `finish_lanes` of its 256 threads share an output. `arrived` is 0, and is left 0.
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(
    256, reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>::resident)
    reduce_and_finish(const __grid_constant__
                      typename reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V,
                                           Wide>::param_type p,
                      void* partial, u32* arrived, int finish_lanes, int order) {
  using Body = reduce_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial), order);
  reduce_finish_body<exact_t<M>, Rk, Rr>::run_in_last_block(p, partial, arrived, finish_lanes);
}

}  // namespace quarry::kernels
