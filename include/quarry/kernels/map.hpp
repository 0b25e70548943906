// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>

/// Maps, out[i] = E(in[i]...), on the CPU; the kernels of GPUs are in kernels/map.cuh.
namespace quarry::kernels {

/// One run of `n` elements: operand k starts at pointer[k] and advances by stride[k] bytes; `first`
/// is the C-order position of the first element. An input may be an output, element for element;
/// else they do not overlap.
struct map_loops {
  void (*run)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
};

/// An element of every output: all are computed before one is stored.
template <class E, class Out>
struct element {
  Out value;
  template <class C>
  explicit element(const C& c) : value(convert<Out>(E{}(c))) {}
  void store_dense(char* const* pointer, i64 i) const {
    reinterpret_cast<Out*>(pointer[0])[i] = value;
  }
  void store(char* const* pointer, const i64* stride, i64 i) const {
    *reinterpret_cast<Out*>(pointer[0] + i * stride[0]) = value;
  }
};
template <>
struct element<several<>, several<>> {
  template <class C>
  explicit element(const C&) {}
  void store_dense(char* const*, i64) const {}
  void store(char* const*, const i64*, i64) const {}
};
template <class E, class... Es, class Out, class... Outs>
struct element<several<E, Es...>, several<Out, Outs...>> {
  element<E, Out> first;
  element<several<Es...>, several<Outs...>> rest;
  template <class C>
  explicit element(const C& c) : first(c), rest(c) {}
  void store_dense(char* const* pointer, i64 i) const {
    first.store_dense(pointer, i);
    rest.store_dense(pointer + 1, i);
  }
  void store(char* const* pointer, const i64* stride, i64 i) const {
    first.store(pointer, stride, i);
    rest.store(pointer + 1, stride + 1, i);
  }
};

template <class M>
struct cpu_map;

QUARRY_LOOPS_BEGIN
template <class E, class Out, int S, class... In>
struct cpu_map<map_of<E, Out, S, In...>> {
  using Types = operands_of<Out, In...>;
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    char* const* const inputs = pointer + Types::outputs;
    const i64* const steps = stride + Types::outputs;
    i64 i = 0;
    if (is_dense(stride, Types::size, Types::count)) {
      // a constant count, so that -O2 vectorizes the inner loop
      for (; i + 16 <= n; i += 16) {
        QUARRY_IVDEP
        for (i64 j = i; j < i + 16; ++j) {
          element<E, Out>(dense_context{inputs, scalars, j, first}).store_dense(pointer, j);
        }
      }
    }
    for (; i < n; ++i) {
      element<E, Out>(run_context{inputs, steps, scalars, i, first}).store(pointer, stride, i);
    }
  }
  static constexpr map_loops loops{run};
};
QUARRY_LOOPS_END

template <class E, class Out, int S, class... In>
struct parts_of<map_of<E, Out, S, In...>> {
  static constexpr family kind = family::map;
  static constexpr int scalars = S;
  using expression = E;
  using types = operands_of<Out, In...>;
  using loops = cpu_map<map_of<E, Out, S, In...>>;
};

}  // namespace quarry::kernels
