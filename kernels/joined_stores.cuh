// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// Stores of several neighbours by each thread. A store of a warp whose threads are further apart
/// than a sector has a part of one sector for each of them.
namespace quarry::kernels {

/// Whether the N neighbours of a thread, a power of two, are more than a sector of 32 bytes.
template <class T, int N>
inline constexpr bool exceeds_sector = N > 1 && (N & (N - 1)) == 0 && sizeof(T) * N > 32;

/// The values of a block's threads, N of each, on their way to memory.
template <class T, int N, int Threads>
struct joined_stores {
  T value[Threads * N];
  T* to[Threads];

  /// Stores the values of each thread at `at`, none if that is null: consecutive threads store
  /// neighbours. Called by all threads of a block.
  __device__ void store(T* at, const T (&values)[N]) {
    const int all = static_cast<int>(blockDim.x * blockDim.y);
    const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    to[thread] = at;
#pragma unroll
    for (int n = 0; n < N; ++n) value[place(thread, n)] = values[n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int which = thread + i * all, owner = which / N, n = which % N;
      if (to[owner]) to[owner][n] = value[place(owner, n)];
    }
  }

 private:
  /// Value n of a thread: where other threads' are in other banks.
  static __device__ int place(int thread, int n) { return thread * N + (n ^ thread % N); }
};

}  // namespace quarry::kernels
