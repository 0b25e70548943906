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

/// Everything a map kernel must know at compile time: out[i] = convert<Out>(E(in[i]...)).
template <class E, class Out, int Scalars, class... In>
struct map_of {};

/// The same for a reduction: out[k] = R::finish(what R::take has taken in of E at every reduced
/// element).
template <class E, class R, class Acc, class Out, int Scalars, class... In>
struct reduction_of {};

}  // namespace quarry::kernels
