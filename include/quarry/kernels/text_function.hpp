// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>
#include <quarry/kernels/source_text.hpp>

/// Functions and reducers in expressions whose source is a text: the call's scalar S is its
/// address. In the name of the kernel, and so for NVRTC, the types of this file are replaced by
/// what the source defines; on the host there is none to call but in a driver of the tests.
namespace quarry::kernels {

/// The type of a function with results of R. Its arguments are converted by the source.
template <class R, int S>
struct text_function {};

template <class R, int S, class... A>
struct call<text_function<R, S>, A...> {
  template <class C>
  R operator()(const C& c) const {
    const void* const host = c.template scalar<const source_text*, S>()->on_host();
    return reinterpret_cast<R (*)(decltype(A{}(c))...)>(const_cast<void*>(host))(A{}(c)...);
  }
};

template <class R, int S, class... A>
struct users_of<call<text_function<R, S>, A...>> {
  static void collect(auto& add) {
    add(user_function{type_name<text_function<R, S>>(), "", S});
    (users_of<A>::collect(add), ...);
  }
};

/// What source_text::host is of a reducer with accumulators of Acc.
template <class Acc>
struct host_reducer {
  Acc identity;
  Acc (*combine)(Acc, Acc);
  Acc (*finish)(Acc, i64 count);
};
/// The reducer of the kernel that the thread runs: the loops of a fold have no scalars.
inline thread_local const source_text* host_reduction = nullptr;

/// A reducer; its source has what reducer.hpp says.
template <int S>
struct text_reducer : simple_reducer<text_reducer<S>> {
  template <class Acc>
  static const host_reducer<Acc>& host() {
    return *static_cast<const host_reducer<Acc>*>(host_reduction->on_host());
  }
  template <class Acc>
  static Acc identity() {
    return host<Acc>().identity;
  }
  template <class Acc>
  static Acc combine(Acc a, Acc b) {
    return host<Acc>().combine(a, b);
  }
  template <class Out, class Acc, class C>
  static Out finish(Acc a, const C& c) {
    return convert<Out>(host<Acc>().finish(a, c.count()));
  }
};

template <int S>
struct users_of<text_reducer<S>> {
  static void collect(auto& add) { add(user_function{type_name<text_reducer<S>>(), "", S}); }
};

template <int S, class Acc>
struct folds<text_reducer<S>, Acc> {
  using Reducer = text_reducer<S>;
  using Value = typename value_of<Acc>::type;

  static void begin(void* acc, i64 n) {
    for (i64 i = 0; i < n; ++i) static_cast<Acc*>(acc)[i] = Reducer::template identity<Acc>();
  }
  static void merge(void* a, const void* b, i64 n) {
    auto* const to = static_cast<Acc*>(a);
    for (i64 i = 0; i < n; ++i) to[i] = Reducer::combine(to[i], static_cast<const Acc*>(b)[i]);
  }
  static const Value* row(const void* values, i64 r, i64 step) {
    return reinterpret_cast<const Value*>(static_cast<const char*>(values) + r * step);
  }
  static void rows(void* acc, i64 rows, i64 n, const void* values, i64 step, i64 first) {
    for (i64 r = 0; r < rows; ++r) {
      for (i64 i = 0; i < n; ++i) {
        Reducer::take(static_cast<Acc*>(acc)[r], row(values, r, step)[i], first + i);
      }
    }
  }
  static void columns(void* acc, i64 n, const void* values, i64 rows, i64 step, i64 at) {
    for (i64 r = 0; r < rows; ++r) {
      for (i64 i = 0; i < n; ++i) {
        Reducer::take(static_cast<Acc*>(acc)[i], row(values, r, step)[i], at + r);
      }
    }
  }
  static constexpr fold_loops loops{sizeof(Acc), sizeof(Value),      begin,
                                    merge,       {rows, rows, rows}, {columns, columns, columns}};
};

}  // namespace quarry::kernels
