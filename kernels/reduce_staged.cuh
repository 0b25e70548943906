// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_finish.cuh"
#include "kernels/reduce_walk.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"
#include "kernels/unaligned.cuh"

namespace quarry::kernels {

/// A reduction of short rows that begin at any element, and lie one behind the other along the last
/// kept axis. A warp copies segments of them to shared memory by aligned vectors; there `Lanes`
/// consecutive threads have a row, and each reads `Count` accesses of it. A stage has `Segments`
/// segments: of several reduced axes those of as many positions of the ones ahead of the rows,
/// which the threads along y share; of one axis those of the next outputs.
template <class M, int Rk, int Rr, class Index, unsigned Wide, int Lanes, int Segments, int Count>
struct reduce_staged_body;
template <class E, class Op, class Acc, class Out, int S, class T, int Rk, int Rr, class Index,
          unsigned Wide, int Lanes, int Segments, int Count>
struct reduce_staged_body<reduction_of<E, Op, Acc, Out, S, T>, Rk, Rr, Index, Wide, Lanes, Segments,
                          Count> {
  static constexpr int unit = sizeof(T) * (input_access::of(Wide, 0).has_gaps ? 2 : 1);
  static constexpr int V = 16 / unit;  ///< elements of an access
  using Walk = reduce_walk<reduction_of<E, Op, Acc, Out, S, T>, Rk, Rr, Index, 3, V, Wide>;
  using P = typename Walk::P;
  using Offsets = typename Walk::Offsets;
  using Part = typename Walk::Part;
  using Fold = typename Walk::Fold;
  using Reducer = typename Walk::Reducer;
  using Taken = typename Fold::value_type;
  using Access = typename Walk::template Loaded<V, Wide>;
  using Vector = aligned_words<16>;
  static_assert(sizeof(Access) == sizeof(Vector) && (!is_located<Acc> || Rr == 1));

  static constexpr int R = Rk + Rr, threads = 256, warp = 32, rows = warp / Lanes;
  static constexpr bool has_places = Rr > 1;                     ///< of the axes ahead of the rows
  static constexpr int outputs = has_places ? 1 : Segments;      ///< of a thread
  static constexpr int item_rows = rows * outputs;               ///< of a warp
  static constexpr int loads = stage_vectors / Segments / warp;  ///< of a thread and a segment
  /// Of a warp in shared memory, with what the lanes' last accesses read behind the last row.
  static constexpr int stage_words = 4 * (stage_vectors + Lanes + 1);
  /// After so many stages narrow accumulators become wide ones.
  static constexpr int most_stages = static_cast<int>(Fold::most / (i64{Segments} * Count * V));

  /// Outputs of a warp, along one line of the last kept axis.
  struct Item {
    Index line, column;  ///< of the first one
    Offsets base{};      ///< of the line
    u64 address = 0;     ///< of the first row
    int rest = 0;        ///< rows from the first one to the end of the line, or item_rows
  };
  /// Rows of neighbouring outputs: where they begin, and how many there are.
  struct Segment {
    u64 address;
    int rows;
    __device__ int shift() const { return static_cast<int>(address) & 15; }
  };
  struct Stage {
    Segment segment[Segments];
    Vector vector[Segments][loads];
  };

  const P& p;
  u32* const stage;  ///< of the warp
  const int lane, pitch, row_bytes;
  const Index columns, items_of_line;

  static __device__ int thread() {
    return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  }
  __device__ reduce_staged_body(const P& params, u32* shared)
      : p(params),
        stage(shared + thread() / warp * stage_words),
        lane(thread() % warp),
        pitch(static_cast<int>(p.stride(1, Rk - 1))),
        row_bytes(static_cast<int>((p.extent(R - 1) - 1) * p.stride(1, R - 1)) +
                  static_cast<int>(sizeof(T))),
        columns(static_cast<Index>(p.extent(Rk - 1))),
        items_of_line((columns - 1) / item_rows + 1) {}

  __device__ Item item_at(Index item) const {
    Item found;
    found.line = Rk > 1 ? quotient(item, items_of_line) : 0;
    found.column = (item - found.line * items_of_line) * item_rows;
    if constexpr (Rk > 1) found.base.advance(p, found.line, 0, Rk - 1);
    const i64 offset = i64{found.base.of[1]} + static_cast<i64>(found.column) * pitch;
    found.address = p.address(1) + static_cast<u64>(offset);
    const Index rest = columns - found.column;
    found.rest = rest < item_rows ? static_cast<int>(rest) : item_rows;
    return found;
  }
  /// From the first place of the reduced axes ahead of the rows to place `place`.
  __device__ u64 place_offset(Index place) const {
    Offsets at{};
    at.advance(p, place, Rk, R - 1);
    return static_cast<u64>(i64{at.of[1]});
  }

  /// Reads the rows of an item, those at the places [place, end), of which there is one at least:
  /// vectors that have some of them.
  __device__ void load(Stage& next, const Item& item, Index place, Index end) const {
#pragma unroll
    for (int s = 0; s < Segments; ++s) {
      Segment& segment = next.segment[s];
      if constexpr (has_places) {
        const bool is_there = place + s < end;
        segment = {item.address + (is_there ? place_offset(place + s) : 0),
                   is_there ? item.rest : 0};
      } else {
        segment = {item.address + static_cast<u64>(s * rows * pitch),
                   between<int>(item.rest - s * rows, 0, rows)};
      }
      const int shift = segment.shift();
      const int bytes = segment.rows > 0 ? shift + (segment.rows - 1) * pitch + row_bytes : 0;
      const auto* const from = reinterpret_cast<const Vector*>(segment.address - shift) + lane;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        if ((u * warp + lane) * 16 < bytes) next.vector[s][u] = from[u * warp];
      }
    }
  }
  /// To shared memory.
  __device__ void store(const Stage& now) const {
    auto* const to = reinterpret_cast<Vector*>(stage);
#pragma unroll
    for (int s = 0; s < Segments; ++s) {
#pragma unroll
      for (int u = 0; u < loads; ++u) to[(s * loads + u) * warp + lane] = now.vector[s][u];
    }
  }

  /// In its row, of element n of the accesses of lane `part`.
  static __device__ i64 position(int n, int part) { return (n / V * Lanes + part) * V + n % V; }
  /// The best of all elements of an extreme, with its place: those that are no elements of the row
  /// are as good as nothing, and have larger positions.
  static __device__ void take_bytes(Part& best, const Taken (&value)[Count * V], int part,
                                    int rest) {
    constexpr int whole = (Count - 1) * V, all = Count * V / 4;
    const u32 never = 0x01010101u * static_cast<u8>(convert<Taken>(best.value));
    u32 word[all];
#pragma unroll
    for (int w = 0; w < all; ++w) {
      word[w] = four_bytes(value + 4 * w);
      if (4 * w < whole) continue;
      const u32 mask = bytes_between(0, rest - (4 * w - whole));
      word[w] = (word[w] & mask) | (never & ~mask);
    }
    best_of_columns<Op, Taken> found;
    found.take(word, 0);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      take_anywhere<Op>(best, found.value(k), position(4 * found.row(k) + k, part));
  }
  /// Which of a lane's elements are in its row.
  struct Those {
    int rest;  ///< in the last access
    __device__ bool operator()(int n) const {
      return n < (Count - 1) * V || n - (Count - 1) * V < rest;
    }
  };
  /// The elements of a lane's accesses. A user function is called for those that are taken.
  template <class F>
  __device__ void compute(Taken (&value)[Count * V], const Access (&in)[Count],
                          const F& is_taken) const {
#pragma unroll
    for (int n = 0; n < Count * V; ++n) {
      if (!calls_user_functions<E> || is_taken(n))
        value[n] = typename Walk::Value{}(typename Walk::Lane{p, in[n / V], 0, n % V});
    }
  }

  static constexpr bool has_moments = __is_base_of(moments_of, Reducer);
  /// Whether the lanes of a row sum up what they have of it, instead of combining it.
  static constexpr bool takes_whole_rows = has_moments && Walk::merges_some && !has_places &&
                                           Lanes > 1 && sizeof(T) >= 4;
  /// Moments of the rows that are in shared memory, in two passes.
  __device__ void take_whole_rows(const Segment (&segment)[Segments], Acc (&sum)[outputs]) const {
    const Those is_taken{rest_of(lane % Lanes)};
#pragma unroll
    for (int s = 0; s < Segments; ++s) {
      const bool is_there = lane / Lanes < segment[s].rows;
      Access in[Count];
      if (is_there) read_row(in, s, segment[s]);
      Taken value[Count * V] = {};
      compute(value, in, [&](int n) { return is_there && is_taken(n); });
      sum[s] = Reducer::template of_shared<typename value_of<Acc>::type>(
          value, p.extent(R - 1), is_taken, sum_of_group<Lanes>{});
    }
  }

  /// All elements of the accesses but the last one, and its first `rest`. The first access has lane
  /// `part` of the row's.
  __device__ void take(Part& sum, const Access (&in)[Count], int part, int rest) const {
    constexpr int whole = (Count - 1) * V;
    if constexpr (Walk::merges_some || is_located<Acc>) {
      Taken value[Count * V] = {};
      const Those is_taken{rest};
      compute(value, in, is_taken);
      if constexpr (is_located<Acc> && is_byte<Taken>) {
        take_bytes(sum, value, part, rest);
      } else if constexpr (is_located<Acc>) {
        const Taken never = convert<Taken>(sum.value);  // as good as nothing
#pragma unroll
        for (int n = whole; n < Count * V; ++n) value[n] = is_taken(n) ? value[n] : never;
        Reducer::take_all(sum, value, [=](int n) { return position(n, part); });
      } else if (whole + rest > 0) {
        Reducer::take_those(sum, value, whole + rest, is_taken);
      }
    } else {
#pragma unroll
      for (int u = 0; u < Count - 1; ++u) Walk::template add<V, Wide>(p, &sum, in[u], 0);
      typename Walk::RowLanes lanes;
      lanes.last = rest;
      Walk::add_lanes(p, &sum, in[Count - 1], 0, lanes);
    }
  }
  /// How many elements of a row there are in the last access of lane `part` of it.
  __device__ int rest_of(int part) const {
    const int last = ((Count - 1) * Lanes + part) * V;
    return between<int>(static_cast<int>(p.extent(R - 1)) - last, 0, V);
  }
  /// What a lane has of its row, which is there, of segment s.
  __device__ void read_row(Access (&in)[Count], int s, const Segment& segment) const {
    const int row = lane / Lanes, part = lane % Lanes;
    const u32 first = static_cast<u32>(segment.shift() + row * pitch), bits = 8 * (first & 3);
    const u32* const from = stage + s * loads * warp * 4 + first / 4;
#pragma unroll
    for (int u = 0; u < Count; ++u)
      in[u] = read_behind<Access, sizeof(T) < 4>(from + (u * Lanes + part) * 4, bits);
  }
  /// The rows that are in shared memory.
  __device__ void take_rows(const Segment (&segment)[Segments], Part (&sum)[outputs]) const {
    const int part = lane % Lanes, rest = rest_of(part);
#pragma unroll
    for (int s = 0; s < Segments; ++s) {
      if (lane / Lanes >= segment[s].rows) continue;
      Access in[Count];
      read_row(in, s, segment[s]);
      take(sum[has_places ? 0 : s], in, part, rest);
    }
  }

  /// The rows of a stage are taken while those of the next one are in flight.
  __device__ void exchange(Stage& next, Segment (&now)[Segments]) const {
    __syncwarp();  // what was there has been read
    store(next);
    __syncwarp();
#pragma unroll
    for (int s = 0; s < Segments; ++s) now[s] = next.segment[s];
  }

  struct Sums {
    Part part[outputs];
    Acc sum[outputs];
    __device__ Sums() {
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
        sum[j] = Op::template identity<Acc>();
        part[j] = Reducer::template identity<Part>();
      }
    }
    __device__ void widen() {
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
        const Acc wide = Fold::widened(part[j]);
        sum[j] = Fold::most > 0 && has_places ? Op::combine(sum[j], wide) : wide;
        part[j] = Reducer::template identity<Part>();
      }
    }
    /// What the lanes of a row have; valid in the first of them.
    __device__ void combine_lanes() {
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
#pragma unroll
        for (int half = Lanes / 2; half > 0; half /= 2) {
          sum[j] = Op::combine(sum[j], lane_below(sum[j], half, Lanes));
        }
      }
    }
  };

  /// An item for each stage.
  __device__ void reduce_rows() const {
    const Index items = static_cast<Index>(p.chunk());
    const Index step = static_cast<Index>(gridDim.x * (threads / warp));
    Index n = static_cast<Index>(blockIdx.x * (threads / warp)) + thread() / warp;
    Stage next{};
    Item of_next;
    if (n < items) load(next, of_next = item_at(n), 0, 1);
#pragma unroll 1
    for (; n < items; n += step) {
      Segment now[Segments];
      exchange(next, now);
      const Item item = of_next;
      if (n + step < items) load(next, of_next = item_at(n + step), 0, 1);
      Sums sums;
      if constexpr (takes_whole_rows) {
        take_whole_rows(now, sums.sum);
      } else {
        take_rows(now, sums.part);
        sums.widen();
        sums.combine_lanes();
      }
      write(item, sums.sum, nullptr);
    }
  }
  /// One item, the places of which the threads along y share.
  __device__ void reduce_places(Acc* partial, Acc* storage) const {
    Index places = 1;
#pragma unroll
    for (int d = Rk; d < R - 1; ++d) places *= static_cast<Index>(p.extent(d));
    const Index chunk = static_cast<Index>(p.chunk()),
                begin = static_cast<Index>(blockIdx.y) * chunk;
    const Index end = places - begin < chunk ? places : begin + chunk;
    const Index step = static_cast<Index>(blockDim.y) * Segments;
    Item item = item_at(static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x / warp) +
                        static_cast<Index>(threadIdx.x / warp));
    const bool is_there = i64{item.line} * columns < p.kept();
    Index place = is_there ? begin + static_cast<Index>(threadIdx.y) * Segments : end;
    Stage next{};
    if (place < end) load(next, item, place, end);
    Sums sums;
    [[maybe_unused]] int left = most_stages;
#pragma unroll 1
    for (; place < end; place += step) {
      Segment now[Segments];
      exchange(next, now);
      if (place + step < end) load(next, item, place + step, end);
      take_rows(now, sums.part);
      if constexpr (Fold::most > 0) {
        if (--left == 0) {
          sums.widen();
          left = most_stages;
        }
      }
    }
    sums.widen();
    sums.combine_lanes();
    const lane_of share{static_cast<int>(threadIdx.y), static_cast<int>(blockDim.y),
                        static_cast<int>(blockDim.x)};
    total_of_lanes<Op>(storage, sums.sum, share);
    if (is_there && threadIdx.y == 0) write(item, sums.sum, partial);
  }

  static __device__ void run(const P& p, Acc* partial, int order) {
    alignas(16) __shared__ u32 stages[threads / warp * stage_words];
    alignas(16) __shared__ char storage[(has_places ? threads : 1) * sizeof(Acc)];
    wait_for_stream(order);
    const reduce_staged_body me(p, stages);
    if constexpr (has_places)
      me.reduce_places(partial, reinterpret_cast<Acc*>(storage));
    else
      me.reduce_rows();
  }
  __device__ void write(const Item& item, const Acc (&sum)[outputs], Acc* partial) const {
    wait_for_work_ahead();
    if (lane % Lanes != 0) return;
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      const int row = j * rows + lane / Lanes;
      if (row >= item.rest) continue;
      const i64 column = static_cast<i64>(item.column) + row;
      if (partial) {
        partial[blockIdx.y * p.kept() + i64{item.line} * columns + column] = sum[j];
      } else {
        char* const to = p.template pointer<char>(0) + item.base.of[0];
        store_results<Op, Out, 1>(block_total<P>{p}, to + column * p.stride(0, Rk - 1), 0, sum + j);
      }
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has 256 threads along x and y, along x a multiple of 32. The input is dense along the
/// last reduced axis, or has gaps (see Wide in vector.cuh). `chunk` counts positions of the reduced
/// axes ahead of it; of one reduced axis it is how many items all warps have. 32 / Lanes rows and
/// 15 bytes fit into stage_vectors / Segments vectors, and of `Count` accesses of 16 bytes of each
/// lane all but the last one are in the row.
template <class M, int Rk, int Rr, int IndexBytes, unsigned Wide, int Lanes, int Segments,
          int Count>
__global__ void __launch_bounds__(256, 4)
    reduce_staged(const __grid_constant__
                  typename reduce_staged_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Wide, Lanes,
                                              Segments, Count>::param_type p,
                  void* partial, int order) {
  using Body =
      reduce_staged_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Wide, Lanes, Segments, Count>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial), order);
}

}  // namespace quarry::kernels
