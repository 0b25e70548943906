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

template <class M, int R, class Index, int Words>
struct join_body;

template <class T, int R, class Index, int Words>
struct join_body<join_of<T>, R, Index, Words> {
  static constexpr bool by_word = Words > 0, has_filled = Words == 2;
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
  /// What reading word by word asks of the join, in shared memory: threads ask for different parts.
  struct short_parts {
    struct alignas(16) part {
      u64 data;  ///< of one that is filled, of its value
      i32 pitch;
      i32 end;  ///< of one that is filled, ~end
    } of[most_joined_parts];
    u64 value[most_joined_values][2];

    /// By the threads of a block together.
    __device__ void set(const join_parts& join) {
      const u32 k = threadIdx.x;
      if (k < static_cast<u32>(most_joined_values)) {
        value[k][0] = join.value[k][0], value[k][1] = join.value[k][1];
      }
      if (k < static_cast<u32>(join.parts)) {
        const joined_part& now = join.part[k];
        const i32 end = static_cast<i32>(now.end);
        of[k] = now.data == 0 ? part{reinterpret_cast<u64>(value[now.value]), 0, ~end}
                              : part{now.data, static_cast<i32>(now.pitch[0]), end};
      }
      __syncthreads();
    }
  };
  /// The words from a place on, one after another, where rows are along one axis that is not
  /// rolled. Those behind the last row are any.
  struct word_reader {
    const short_parts& parts;
    i32 count, columns, rows;  ///< rows are counted from the first one of the parts on
    i32 row, column, last, part = 0;
    const char* filling;  ///< of rows before the first one; of those behind the last one, the next

    __device__ word_reader(const short_parts& all, const join_parts& join, i32 number)
        : parts(all), count(join.parts), columns(static_cast<i32>(join.columns.extent)) {
      const joined_axis& axis = join.axis[0];
      const i32 first = join.columns.quotient(number), shift = static_cast<i32>(axis.shift);
      column = number - first * columns;
      row = first - shift, last = static_cast<i32>(axis.result.extent) - 1 - shift;
      rows = static_cast<i32>(axis.size);
      filling = reinterpret_cast<const char*>(all.value + (axis.value < 0 ? 0 : axis.value));
      while (column >= end_of(parts.of[part])) ++part;
    }
    __device__ vec<T, 1> next() {
      const typename short_parts::part now = parts.of[part];
      const bool is_filled = has_filled && now.end < 0;
      const i64 offset = i64{row} * now.pitch + (is_filled ? 0 : column * static_cast<i32>(size));
      const char* from = reinterpret_cast<const char*>(now.data) + offset;
      if constexpr (has_filled) {
        const bool is_outside = static_cast<u32>(row) >= static_cast<u32>(rows);
        if (is_outside && !is_filled) from = filling + (row < 0 ? 0 : sizeof parts.value[0]);
      }
      const vec<T, 1> word = *reinterpret_cast<const vec<T, 1>*>(from);
      ++column;
      part += column == end_of(now) ? 1 : 0;
      const bool ends = part == count;
      column = ends ? 0 : column;
      part = ends ? 0 : part;
      row = ends && row < last ? row + 1 : row;
      return word;
    }

   private:
    static __device__ i32 end_of(const typename short_parts::part& p) {
      return has_filled && p.end < 0 ? ~p.end : p.end;
    }
  };
  /// The same as by_vectors, word by word: for parts of few words.
  static __device__ Vector by_words(word_reader reader) {
    constexpr int each = 4 / sizeof(T), words = 4;
    Vector out;
    if constexpr (each > 1) {
#pragma unroll 1
      for (int i = 0; i < words; ++i) {
#pragma unroll
        for (int w = 1; w < words; ++w) out.word[w - 1] = out.word[w];
        u32 word = 0;
#pragma unroll
        for (int e = 0; e < each; ++e) {
          word |= static_cast<u32>(reader.next().v[0]) << 8 * sizeof(T) * e;
        }
        out.word[words - 1] = word;
      }
    } else {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        reinterpret_cast<vec<T, 1>*>(&out)[lane] = reader.next();
      }
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
    if constexpr (by_word) {
      alignas(16) __shared__ char storage[sizeof(short_parts)];
      auto& parts = *reinterpret_cast<short_parts*>(storage);
      parts.set(join);
      if (first >= n) return;
      out = by_words(word_reader(parts, join, static_cast<i32>(first)));
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

/// The result is aligned to 16 bytes, the words of parts to themselves. With Words = 1 or 2 the
/// words, of at most 8 bytes, are read one by one: along one axis that is not rolled; words, and
/// the bytes between rows, are fewer than 2^31. Only with 2 some may be filled.
template <class M, int R, int IndexBytes, int Words>
__global__ void __launch_bounds__(256)
    join(const __grid_constant__
         typename join_body<M, R, index_of<IndexBytes>, Words>::param_type p,
         const __grid_constant__ join_parts parts) {
  wait_for_stream();
  join_body<M, R, index_of<IndexBytes>, Words>::run(p, parts);
}

}  // namespace quarry::kernels
