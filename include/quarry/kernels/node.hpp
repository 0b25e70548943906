// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// An expression as kernels see it: a type without data members, which says what is computed. The
/// kernel is instantiated with it. Operands and scalars are run-time data, which it reads through a
/// context `c`:
///   c.input<T, K>()   element of the K-th input array     c.scalar<T, S>()   the S-th scalar
///   c.index()         position of the element in C order of the result
///   c.input_at<T, K>(offset)   the same input, `offset` bytes further on: K is a side operand
namespace quarry::kernels {

template <class T, int K>
struct in {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template input<T, K>();
  }
};

/// The element type of a side operand: besides the common axes it has `Axes` of its own, along
/// which the expression computes the position (see place). They are the call's scalars from First
/// on.
template <class T, int First = 0, int Axes = 1>
struct side {
  T element;
};
/// One of them. The stride is in bytes.
struct side_axis {
  i64 extent, stride;
};

/// How positions outside of the axis are brought into it.
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

/// Position I of an axis of a side operand, which is scalar S: how many bytes from position 0.
template <index_mode Mode, int S, class I>
struct place {
  template <class C>
  QUARRY_HD i64 operator()(const C& c) const {
    const side_axis axis = c.template scalar<side_axis, S>();
    return place_on<Mode>(I{}(c), axis.extent) * axis.stride;
  }
};

/// The element of input K, a side operand, at a place on each of its own axes.
template <class T, int K, class... Places>
struct pick {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template input_at<T, K>((Places{}(c) + ...));
  }
};

template <class T, int S>
struct val {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template scalar<T, S>();
  }
};

/// The result of a reduction, in the expression that is applied to it (applied_to in reducer.hpp).
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

/// The type of the values of expression E in a context.
template <class E, class C>
using value_in = decltype(E{}(*static_cast<const C*>(nullptr)));

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

/// A list of expressions, or of the types of their outputs.
template <class... T>
struct several {};

/// Of a map: an element is E where P is true, else it is not written.
template <class P, class E>
struct guarded {};

/// All that a map kernel depends on at compile time: out[i] = convert<Out>(E(in[i]...)). For
/// several outputs E is several<E1, E2, ...> and Out is several<Out1, Out2, ...>.
template <class E, class Out, int Scalars, class... In>
struct map_of {};

template <class T>
inline constexpr bool is_side_operand = false;
template <class T, int First, int Axes>
inline constexpr bool is_side_operand<side<T, First, Axes>> = true;

/// How many operands there are, and the sizes and alignments of their
/// elements.
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
  /// Of the operands from `first` on.
  QUARRY_HD static constexpr u32 largest(int first) {
    u32 most = 0;
    for (int k = first; k < count; ++k) most = size_of(k) > most ? size_of(k) : most;
    return most;
  }
};

/// The same for a reduction: out[k] = R::finish(acc), where R::take has added the value of E at
/// every reduced element to `acc`.
template <class E, class R, class Acc, class Out, int Scalars, class... In>
struct reduction_of {};

/// Counts of values: adds 1 to out[E(in[i]...)] for every i where that is less than the number of
/// bins, which is the last of the call's scalars, an i64. The outputs are i64, one behind another.
template <class E, int Scalars, class... In>
struct bincount_of {};

/// The elements for which P(in[i]...) is true, in C order. How many they are goes to output 0, an
/// i64. Values E go to output 1: one behind another, or where `InPlace` to the elements themselves;
/// there E has not the element's position, but how many were kept before it. Without memory for
/// output 1 the elements are only counted.
template <class P, class E, class Out, bool InPlace, int Scalars, class... In>
struct select_of {};

/// Rows of which every element depends on the whole row: out[i] is computed by Program
/// (row_programs.hpp) from E(in[i]...) and from what it has reduced the row to.
template <class E, class Program, class Out, int Scalars, class... In>
struct rows_of {};

/// Rows of words T that are joined of parts of others (join_parts.hpp).
template <class T>
struct join_of {};

}  // namespace quarry::kernels
