// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// The device form of an expression: a stateless type. What it computes is in the type, so its name
/// is the name of the kernel; where its operands lie is run-time data, reached through a context
/// `c`:
///   c.input<T, K>()   element of the K-th array leaf      c.scalar<T, S>()   the S-th scalar
///   c.index()         position of the element in C order of the result
namespace quarry::kernels {

template <class T, int K>
struct in {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template input<T, K>();
  }
};

template <class T, int S>
struct val {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template scalar<T, S>();
  }
};

/// What a reduction has found, in the expression that is applied to it (see reducer.hpp).
template <class T>
struct result {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.result();
  }
};

template <class T>
struct iota {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return convert<T>(c.index());
  }
};

template <class T, class A>
struct cast {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return convert<T>(A{}(c));
  }
};

/// A row of ops.def: every operand is converted to the loop type `L` as the row's domain says.
template <class F, class L, class... A>
struct op {
  template <class C>
  QUARRY_HD auto operator()(const C& c) const {
    return F::template apply<L>(A{}(c)...);
  }
};

/// A user function: its own C++ rules decide the types.
template <class F, class... A>
struct call {
  template <class C>
  QUARRY_HD auto operator()(const C& c) const {
    return F{}(A{}(c)...);
  }
};

/// Expressions, or the types of their outputs, side by side.
template <class... T>
struct several {};

/// Everything a map kernel must know at compile time: out[i] = convert<Out>(E(in[i]...)). With
/// E = several<E1, E2, ...> and Out = several<Out1, Out2, ...> it has as many outputs.
template <class E, class Out, int Scalars, class... In>
struct map_of {};

/// How many operands there are, and the sizes and alignments of their elements.
template <class Outputs, class... In>
struct operands_of : operands_of<several<Outputs>, In...> {};
template <class... Out, class... In>
struct operands_of<several<Out...>, In...> {
  static constexpr int outputs = sizeof...(Out), inputs = sizeof...(In), count = outputs + inputs;
  static constexpr u32 size[] = {sizeof(Out)..., sizeof(In)...};
  static constexpr u32 alignment[] = {alignof(Out)..., alignof(In)...};
  /// For device code, which cannot index the array.
  QUARRY_HD static constexpr u32 size_of(int k) {
    const u32 sizes[] = {sizeof(Out)..., sizeof(In)...};
    return sizes[k];
  }
};

/// The same for a reduction: out[k] = R::finish(what R::take has taken in of E at every reduced
/// element).
template <class E, class R, class Acc, class Out, int Scalars, class... In>
struct reduction_of {};

}  // namespace quarry::kernels
