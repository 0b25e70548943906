// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// The device form of an expression: a stateless type. What it computes is in the type, so its name
/// is the name of the kernel; where its operands lie is run-time data, reached through a context
/// `c`:
///   c.input<T, K>()   element of the K-th array leaf      c.scalar<T, S>()   the S-th scalar
///   c.index()         position of the element in C order of the result
///   c.input_at<T, K>(offset)   the same leaf, so many bytes further on: K is a side operand
namespace quarry::kernels {

template <class T, int K>
struct in {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template input<T, K>();
  }
};

/// The element type of an input that is a side operand: it moves along the common axes as others
/// do, and has an axis of its own, along which positions are computed (see pick).
template <class T>
struct side {
  T element;
};
/// That axis; it is a scalar of the call. The stride is in bytes.
struct side_axis {
  i64 extent, stride;
};

/// What becomes of positions outside of the axis; none reads outside of it.
enum class index_mode : u8 {
  from_end,  ///< negative ones count from the end; the others become the nearest inside
  wrap,      ///< modulo the extent
  clip       ///< the nearest one inside, negative ones too
};

template <index_mode Mode, class V>
QUARRY_HD i64 place_on(V position, i64 extent) {
  if constexpr (is_bool<V>) {
    return place_on<Mode>(static_cast<i64>(position), extent);
  } else if constexpr (is_signed<V>) {
    const i64 p = static_cast<i64>(position);
    if constexpr (Mode == index_mode::wrap) {
      const i64 rest = p % extent;
      return rest < 0 ? rest + extent : rest;
    } else {
      const i64 q = Mode == index_mode::from_end && p < 0 ? p + extent : p;
      return q < 0 ? 0 : q < extent ? q : extent - 1;
    }
  } else {
    const u64 p = static_cast<u64>(position), n = static_cast<u64>(extent);
    return static_cast<i64>(Mode == index_mode::wrap ? p % n : p < n ? p : n - 1);
  }
}

/// The element of the K-th array leaf, a side operand, at position I of its own axis, scalar S.
template <index_mode Mode, class T, int K, int S, class I>
struct pick {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    const side_axis axis = c.template scalar<side_axis, S>();
    return c.template input_at<T, K>(place_on<Mode>(I{}(c), axis.extent) * axis.stride);
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

template <class T>
inline constexpr bool is_side_operand = false;
template <class T>
inline constexpr bool is_side_operand<side<T>> = true;

/// How many operands there are, which are side operands, and the sizes and alignments of their
/// elements.
template <class Outputs, class... In>
struct operands_of : operands_of<several<Outputs>, In...> {};
template <class... Out, class... In>
struct operands_of<several<Out...>, In...> {
  static constexpr int outputs = sizeof...(Out), inputs = sizeof...(In), count = outputs + inputs;
  static constexpr u32 size[] = {sizeof(Out)..., sizeof(In)...};
  static constexpr u32 alignment[] = {alignof(Out)..., alignof(In)...};
  static constexpr bool is_side[] = {(sizeof(Out), false)..., is_side_operand<In>...};
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
