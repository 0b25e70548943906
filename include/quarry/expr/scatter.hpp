// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>
#include <quarry/kernels/scatter.hpp>

/// Writing into the elements of an array at computed positions: one kernel, and one before it where
/// several values may meet at an element and the last of them, in C order, is the one that stays.
namespace quarry::expr {

/// OwnAxes that are the scalars from S on.
template <int S>
struct AxesFrom {};
template <int I, int S, int Axes>
struct Lower<I, S, OwnAxes<Axes>> {
  using type = AxesFrom<S>;
  using arrays = List<>;
  static constexpr int next_array = I, next_scalar = S + Axes;
};

/// Operands of an operation that has no elements itself.
template <class Op, class... X>
class Operation {
 public:
  explicit Operation(const X&... x) : operands_{{x}...} {}
  const Operands<const X&...>& arguments() const { return operands_; }

 private:
  Operands<const X&...> operands_;
};
template <int I, int S, class Op, class... X>
struct Lower<I, S, Operation<Op, X...>> : LowerArguments<I, S, Op, List<>, List<>, X...> {};

/// The element at positions I meets the value V by F.
template <class F, kernels::index_mode Mode>
struct Into {
  template <class From, class V, class... I>
  struct lowered;
  template <int S, class V, class... I>
  struct lowered<AxesFrom<S>, V, I...> {
    template <class Numbers>
    struct at;
    template <int... N>
    struct at<std::integer_sequence<int, N...>> {
      using type = kernels::into<F, V, kernels::place<Mode, S + N, I>...>;
    };
    using type = typename at<std::make_integer_sequence<int, sizeof...(I)>>::type;
  };
  template <class From, class V, class... I>
  using device = typename lowered<From, V, I...>::type;
};
/// The same where the element of Owner at these positions is the number of the value.
template <kernels::index_mode Mode>
struct IntoOwned {
  template <class From, class Owner, class Turns, class V, class... I>
  using device =
      kernels::owned<typename Pick<Mode>::template device<Owner, I...>, Turns,
                     typename Into<kernels::replaced, Mode>::template device<From, V, I...>>;
};

/// What a scatter writes to, without its types.
struct Target {
  const DeviceNDArrayBase& array;   ///< any element of it may be written
  const DeviceNDArrayBase& window;  ///< its elements at position 0 of its own axes
  const Shape& shape;               ///< of what is written
  /// Of the positions: nothing is written before it is known that it finds nothing, unless
  /// `is_new`: then nobody else has the array, and what writes it may make the check.
  const quarry::detail::QueuedCheck* check = nullptr;
  bool is_new = false;
};
/// Has the check go on while all else is prepared.
void queue_check(const Target& target);
/// Runs `program`, a map to a side operand. The inputs broadcast to the shape of the target; the
/// result is as if all of them were read before anything is written, but input `own`, which is read
/// element for element (-1: none is).
void scatter_into(const kernels::program& program, const Target& target,
                  const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                  int own = -1);
/// Throws ShapeError unless values can be written to a place without elements: they broadcast to
/// it, without their first axes if they have more and are without elements all the same. As NumPy.
void require_writable_to_empty(const Shape& values, const Shape& place);
/// Throws ShapeError unless values broadcast to a place; they may not have more axes.
void require_met(const Shape& values, const Shape& place);
/// Whether an array, except number `own`, shares memory with the one that is written.
bool reads_target(const DeviceNDArrayBase& target, const DeviceNDArrayBase* const* arrays,
                  int count, int own);
/// Whether values of this shape are the same for all positions, which have the shape `turns`: they
/// do not move along its axes.
bool is_same_for_all(const Shape& values, const Shape& turns);
/// No axis of extent 1 of `turns` lies between others, unless it is one of the target, too.
kernels::turns turns_of(const Shape& target, const Shape& turns);

/// An element for each place on the own axes, and along the window's axes in `turns` where these
/// are not 1.
template <class T>
struct Places {
  DeviceNDArray<T> array;
  Layout window;
  std::vector<kernels::side_axis> own;

  DeviceNDArray<T> seen() const { return {window, array.address(), array.buffer()}; }
  template <int Axes>
  OwnAxes<Axes> axes() const {
    OwnAxes<Axes> made;
    for (std::size_t n = 0; n < Axes; ++n) made.axis[n] = own[n];
    return made;
  }
  template <int Axes>
  SideLeaf<T, Axes> leaf() const {
    SideLeaf<T, Axes> made{array, seen(), {}};
    for (std::size_t n = 0; n < Axes; ++n) made.axis[n] = own[n];
    return made;
  }
};
/// The numbers of the values that stay, of type N, std::int64_t or std::int32_t, counted from
/// `first`: what is less is no value's.
template <class N>
struct Owners : Places<N> {
  N first = 0;
};
/// All places without a value.
template <class N>
Owners<N> new_owners(const Target& target, std::span<const kernels::side_axis> own,
                     const Shape& turns);
/// Whether it takes less time to find out if places are repeated than to have owners of all of
/// them, and whether the host can wait for that, which it cannot in a capture: there are many
/// places, and not more `turns`; all are on the own axes.
bool may_be_distinct(const Target& target, std::span<const kernels::side_axis> own,
                     const Shape& turns);
/// Whether the values are rows that are written in the order of the places they belong to: each
/// place reads the row of its owner, which takes less time than a write of each row where its
/// position says. Their numbers have 32 bits.
bool has_owned_rows(const Target& target, std::span<const kernels::side_axis> own,
                    const Shape& turns, const DeviceNDArrayBase& values);
void write_owned_rows(const Target& target, const kernels::side_axis& own, const Shape& turns,
                      const DeviceNDArrayBase& values, const Owners<std::int32_t>& owners);
/// A bit for each place, as kernels::marked sets them.
using Marks = Places<std::uint32_t>;
Marks new_marks(const Target& target, std::span<const kernels::side_axis> own, const Shape& turns);
bool is_one_repeated(const Marks& marks);  ///< waits
/// The elements of the target as new_owners has numbers for them.
struct Region {
  Layout window;  ///< along the axes of the turns
  std::span<const kernels::side_axis> own;

  std::int64_t size() const;
  /// Without axes of extent 1: with them there can be more axes than arrays have.
  Layout layout() const;
};
Region region_of(const Target& target, std::span<const kernels::side_axis> own, const Shape& turns);
/// In so many bits as many numbers fit 62 bits together.
std::int64_t bits_of_each(std::int64_t count);

/// The program of a scatter of elements K.
template <class K, int Axes, class X>
struct ScatterProgram {
  using L = Lowered<X>;
  static kernels::program& value() {
    return MapProgram<typename L::type, kernels::side<K, 0, Axes>, L::next_scalar,
                      typename L::arrays>::value();
  }
};

template <class F, class K, kernels::index_mode Mode, int Axes, class V, class... P>
void scatter(const Target& target, const OwnAxes<Axes>& own, int own_input, const V& values,
             const P&... positions) {
  using Op = Operation<Into<F, Mode>, OwnAxes<Axes>, V, P...>;
  const Arguments<Op> arguments(Op(own, values, positions...));
  scatter_into(ScatterProgram<K, Axes, Op>::value(), target, arguments.array, arguments.scalar,
               own_input);
}

/// Whether no two of the positions, of shape `turns`, are the same place. Waits.
template <kernels::index_mode Mode, int Axes, class... P>
bool are_distinct(const Target& target, const OwnAxes<Axes>& own, const Shape& turns,
                  const P&... positions) {
  const Marks marks = new_marks(target, own.axis, turns);
  const auto window = marks.seen();
  scatter<kernels::marked, kernels::u32, Mode>({marks.array, window, turns},
                                               marks.template axes<Axes>(), -1,
                                               Constant<kernels::u32>{1}, positions...);
  return !is_one_repeated(marks);
}

template <class N, kernels::index_mode Mode, int Axes, class... P>
Owners<N> owners_of(const Target& target, const OwnAxes<Axes>& own, const Shape& turns,
                    const P&... positions) {
  using K = kernel_type_t<N>;
  Owners<N> owners = new_owners<N>(target, own.axis, turns);
  const auto window = owners.seen();
  scatter<kernels::largest, K, Mode>(
      {owners.array, window, turns, target.check, true}, owners.template axes<Axes>(), -1,
      make_node<kernels::add_op>(Position<K>{}, Constant<K>{owners.first}), positions...);
  return owners;
}

template <class K, class V>
inline constexpr bool are_elements = false;
template <class K, class T>
inline constexpr bool are_elements<K, Leaf<T>> =
    std::same_as<K, kernel_type_t<std::remove_const_t<T>>>;

/// The values that stay are those that are last in C order. `turns` is the shape of the positions:
/// values along its axes may meet. The CPU writes in C order anyway. Waits only for positions that
/// have been waited for before, of mode from_end.
template <class K, kernels::index_mode Mode, int Axes, class V, class... P>
void scatter_last(const Target& target, const OwnAxes<Axes>& own, const Shape& turns, int own_input,
                  const V& values, const P&... positions) {
  if (target.array.device().is_cpu()) {
    const auto write = [&](const auto& elements) {
      scatter<kernels::replaced, K, Mode>(target, own, -1, elements, positions...);
    };
    if constexpr (Expression<V>) {
      if (own_input >= 0) return write(as_tree(eval(values)));  // they are all read before
    }
    return write(values);
  }
  if constexpr (are_elements<K, V>) {
    if (own_input < 0 && has_owned_rows(target, own.axis, turns, values.array)) {
      const auto owners = owners_of<std::int32_t, Mode>(target, own, turns, positions...);
      return write_owned_rows(target, own.axis[0], turns, values.array, owners);
    }
  }
  queue_check(target);
  if constexpr (Mode == kernels::index_mode::from_end) {
    if (may_be_distinct(target, own.axis, turns) &&
        are_distinct<Mode>(target, own, turns, positions...)) {
      return scatter<kernels::replaced, K, Mode>(target, own, own_input, values, positions...);
    }
  }
  const auto owners = owners_of<std::int64_t, Mode>(target, own, turns, positions...);
  const auto leaf = owners.template leaf<Axes>();  // what is written before
  const Constant<kernels::turns> numbers{turns_of(target.shape, turns)};
  using Op = Operation<IntoOwned<Mode>, OwnAxes<Axes>, SideLeaf<std::int64_t, Axes>,
                       Constant<kernels::turns>, V, P...>;
  const Arguments<Op> arguments(Op(own, leaf, numbers, values, positions...));
  scatter_into(ScatterProgram<K, Axes, Op>::value(), target, arguments.array, arguments.scalar,
               own_input < 0 ? own_input : own_input + 1);
}

}  // namespace quarry::expr
