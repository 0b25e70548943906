// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/join_parts.hpp>
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/unaligned.cuh"

/// The kernel of joins:
///   join   a thread writes 16 bytes of the result, whose rows are accessed as one
namespace quarry::kernels {

/// The word at which a thread is: its row, and where that part of it is that has the column.
template <int R, class Index>
struct joined_place {
  const join_parts& join;
  Index row, column;
  joined_row<Index> here;
  int part = 0;
  Index end;         ///< of the part: a column
  i32 filled;        ///< with a value, or -1
  const char* from;  ///< what column 0 of the part would be

  __device__ joined_place(const join_parts& j, Index number)
      : join(j),
        row(j.columns.quotient(number)),
        column(number - row * static_cast<Index>(j.columns.extent)),
        here(j, row, R) {
    while (column >= static_cast<Index>(join.part[part].end)) ++part;
    enter();
  }
  /// To the column where the next part begins.
  __device__ void next_part() {
    column = end;
    if (++part == join.parts) {
      part = 0, column = 0;
      here = joined_row<Index>(join, ++row, R);
    }
    enter();
  }

 private:
  __device__ void enter() {
    const joined_part& now = join.part[part];
    end = static_cast<Index>(now.end);
    filled = here.value_of(now);
    from = reinterpret_cast<const char*>(here.address_of(now, R));
  }
};

template <class M, int R, class Index, bool IsShort>
struct join_body;

template <class T, int R, class Index, bool IsShort>
struct join_body<join_of<T>, R, Index, IsShort> {
  using P = params<1, 0, 0>;
  using Place = joined_place<R, Index>;
  static constexpr int V = 16 / sizeof(T);
  static constexpr Index size = sizeof(T);
  using Vector = packed<T, V>;

  static __device__ Vector filling(const join_parts& join, i32 value) {
    return *reinterpret_cast<const Vector*>(join.value[value]);
  }
  /// The first `count` words from `place` on: of each part that has some of them a vector.
  static __device__ Vector by_vectors(const join_parts& join, Place place, Index count) {
    Vector out;
    for (Index done = 0;;) {
      const Index left = place.end - place.column;
      Vector found;
      if (place.filled >= 0) {
        found = filling(join, place.filled);
      } else {
        const i32 past = static_cast<i32>(left < V - done ? done + left : Index{V});
        found = read_part<T, V>(place.from + (place.column - done) * size,
                                static_cast<i32>(done * size), past * static_cast<i32>(size));
      }
      out = done == 0 ? found : joined(out, found, static_cast<i32>(done));
      done += left;
      if (done >= count) return out;
      place.next_part();
    }
  }
  /// What reading word by word asks of a part, in shared memory: threads ask for different ones.
  struct alignas(16) short_part {
    u64 data;
    i32 pitch, end;
  };
  /// The same where many parts have few words, along one axis as it is, and none is filled: word by
  /// word. Those behind the last row are any.
  static __device__ Vector by_words(const short_part* parts, const join_parts& join, i32 row,
                                    i32 column) {
    constexpr int each = 4 / sizeof(T), words = 4;
    const i32 last = static_cast<i32>(join.axis[0].result.extent) - 1;
    i32 k = 0;
    while (column >= parts[k].end) ++k;
    Vector out;
#pragma unroll(V > 4 ? 1 : words)
    for (int i = 0; i < words; ++i) {
#pragma unroll
      for (int w = 1; w < words; ++w) out.word[w - 1] = out.word[w];
      u32 word = 0;
#pragma unroll
      for (int e = 0; e < each; ++e) {
        const short_part part = parts[k];
        const i64 offset = i64{row} * part.pitch + column * size;
        const char* const from = reinterpret_cast<const char*>(part.data) + offset;
        word |= static_cast<u32>(*reinterpret_cast<const T*>(from)) << 8 * sizeof(T) * e;
        ++column;
        k += column == part.end ? 1 : 0;
        const bool ends = k == join.parts;
        column = ends ? 0 : column;
        k = ends ? 0 : k;
        row = ends && row < last ? row + 1 : row;
      }
      out.word[words - 1] = word;
    }
    return out;
  }

  static __device__ void run(const P& p, const join_parts& join) {
    const Index n = static_cast<Index>(p.kept());
    const Index first = (static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) +
                         static_cast<Index>(threadIdx.x)) *
                        V;
    const Index count = n - first < V ? n - first : Index{V};
    Vector out;
    if constexpr (IsShort) {
      __shared__ short_part parts[most_joined_parts];
      if (threadIdx.x < static_cast<u32>(join.parts)) {
        const joined_part& part = join.part[threadIdx.x];
        parts[threadIdx.x] = {part.data, static_cast<i32>(part.pitch[0]),
                              static_cast<i32>(part.end)};
      }
      __syncthreads();
      if (first >= n) return;
      const Index row = join.columns.quotient(first);
      const Index column = first - row * static_cast<Index>(join.columns.extent);
      out = by_words(parts, join, static_cast<i32>(row), static_cast<i32>(column));
    } else {
      if (first >= n) return;
      out = by_vectors(join, Place(join, first), count);
    }
    char* const to = p.template pointer<char>(0) + first * size;
    if (count == V) {
      *reinterpret_cast<Vector*>(to) = out;
    } else {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        if (lane >= count) break;
        reinterpret_cast<vec<T, 1>*>(to)[lane] = reinterpret_cast<const vec<T, 1>*>(&out)[lane];
      }
    }
  }
  using param_type = P;
};

/// The result is aligned to 16 bytes, the words of parts to themselves. `IsShort` is for words of
/// at most 4 bytes along one axis that is not shifted, without parts that are filled; rows, and the
/// bytes between them, are fewer than 2^31.
template <class M, int R, int IndexBytes, int IsShort>
__global__ void __launch_bounds__(256)
    join(const __grid_constant__
         typename join_body<M, R, index_of<IndexBytes>, IsShort != 0>::param_type p,
         const __grid_constant__ join_parts parts) {
  wait_for_stream();
  join_body<M, R, index_of<IndexBytes>, IsShort != 0>::run(p, parts);
}

}  // namespace quarry::kernels
