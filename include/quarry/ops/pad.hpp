// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/joined_rows.hpp>
#include <quarry/ops/reduce.hpp>
#include <quarry/ops/shape.hpp>

/// NumPy's pad.
namespace quarry {

namespace detail {
///@{
/// Throw ShapeError: for pairs of other than one or two numbers, for pairs for another number of
/// axes, and for statistics of less than one element.
void require_pair(std::size_t numbers);
void require_pairs(std::size_t pairs, std::size_t rank);
void require_stat_lengths(std::int64_t before, std::int64_t after);
///@}
}  // namespace detail

/// What stands in the elements that pad adds, as NumPy's modes.
enum class PadMode {
  constant,
  edge,         ///< the nearest element
  linear_ramp,  ///< from the nearest element to an end value, evenly spaced
  maximum,      ///< of the axis, or of some elements near the end
  mean,         ///< likewise
  median,       ///< likewise; computed on the host
  minimum,      ///< likewise
  reflect,      ///< reflected at the last element, which is not repeated
  symmetric,    ///< reflected at the edge of the last element
  wrap,         ///< from the other end
  empty,        ///< anything
};
/// How `reflect` and `symmetric` continue: as the elements are, or 2 * edge - element.
enum class Reflect { even, odd };

/// A value before and one after an axis: one number for all of them, a pair {before, after} for all
/// axes, or a pair for each axis, in braces or a std::vector<std::pair<T, T>>.
template <class T>
class PadPairs {
 public:
  /// One number.
  template <class N>
  requires std::convertible_to<N, T> PadPairs(const N& both)
      : pairs_{{static_cast<T>(both), static_cast<T>(both)}} {}
  /// {before, after}, or one number in braces.
  PadPairs(std::initializer_list<T> pair) { add(pair); }
  /// {{before, after}, ...}, one for each axis.
  PadPairs(std::initializer_list<std::initializer_list<T>> pairs) {
    for (const auto& pair : pairs) add(pair);
  }
  /// The same where their number is known at run time only.
  template <std::same_as<std::vector<std::pair<T, T>>> P>
  PadPairs(P pairs) : pairs_(std::move(pairs)) {}
  ///@{
  /// Of an axis. Throw ShapeError unless there are pairs for all axes.
  const T& before(std::size_t axis, std::size_t rank) const { return pair(axis, rank).first; }
  const T& after(std::size_t axis, std::size_t rank) const { return pair(axis, rank).second; }
  ///@}

 private:
  void add(std::initializer_list<T> pair) {
    detail::require_pair(pair.size());
    if (pair.size() > 0) pairs_.emplace_back(*pair.begin(), *(pair.end() - 1));
  }
  const std::pair<T, T>& pair(std::size_t axis, std::size_t rank) const {
    detail::require_pairs(pairs_.size(), rank);
    return pairs_[pairs_.size() == 1 ? 0 : axis];
  }
  std::vector<std::pair<T, T>> pairs_;
};

/// Of pad; each mode uses its own.
template <class T>
struct PadOptions {
  PadPairs<T> constant_values = T{};  ///< of mode constant
  PadPairs<T> end_values = T{};       ///< of mode linear_ramp
  /// Of the modes with a statistic: of so many elements, of all without it.
  std::optional<PadPairs<std::int64_t>> stat_length = std::nullopt;
  Reflect reflect_type = Reflect::even;  ///< of modes reflect and symmetric
};

namespace expr {

/// The result of a pad: the shape of the array inside, and the widths around it. Axes are padded in
/// their order, each along what is there of the axes before it.
class PadFrame {
 public:
  /// Throws ShapeError, with the values, for negative widths, and for another mode than constant
  /// and empty if there is nothing to take values from.
  PadFrame(const Shape& inside, const PadPairs<std::int64_t>& widths, PadMode mode);

  Shape shape() const;  ///< of the result
  const Shape& inside() const { return inside_; }
  std::size_t rank() const { return inside_.size(); }
  std::int64_t extent(std::size_t axis) const { return inside_[axis]; }
  std::int64_t before(std::size_t axis) const { return before_[axis]; }
  std::int64_t after(std::size_t axis) const { return after_[axis]; }
  /// The array itself.
  View inside(const Layout& result) const;
  /// Positions [first, first + count) of an axis, counted from the first one inside: along the axes
  /// before it all, along those behind it what is inside.
  View part(const Layout& result, std::size_t axis, std::int64_t first, std::int64_t count) const;
  template <class T>
  DeviceNDArray<T> part(const DeviceNDArray<T>& result, std::size_t axis, std::int64_t first,
                        std::int64_t count) const {
    return viewed(result, [&](const Layout& l) { return part(l, axis, first, count); });
  }

 private:
  Shape inside_, before_, after_;
};

/// Elements of an axis that are copied from others: [to, to + count) from [from, from + count), in
/// reverse if they are reflected at `edge`, or all from `from` if that is the edge itself.
/// Positions count from the first one inside.
struct PadMove {
  enum class Kind { copied, reflected, edge } kind;
  std::int64_t to, from, count, edge = 0;
};
/// The moves of modes edge, wrap, reflect and symmetric, in their order: later ones take what
/// earlier ones have written.
std::vector<PadMove> pad_moves(const PadFrame& frame, std::size_t axis, PadMode mode);
/// All of them, along all axes.
void pad_by_moves(const DeviceNDArrayBase& result, const PadFrame& frame, PadMode mode);

/// The type in which values between others are computed.
template <class T>
using fraction_t = std::conditional_t<dtype_of<T>.kind() == Kind::complex,
                                      host_type_t<TypeId::complex128>, double>;

///@{
/// The median of each row of `values`, whose axis of rows is kept with extent 1. Complex values are
/// in the order of their real parts, then of their imaginary ones.
DeviceNDArray<double> medians(const DeviceNDArray<double>& values, std::int64_t axis);
DeviceNDArray<std::complex<double>> medians(const DeviceNDArray<std::complex<double>>& values,
                                            std::int64_t axis);
///@}

/// `source` in the frame, with values around it. False as JoinedRows::write.
template <class T>
bool write_padded(const DeviceNDArray<T>& result, const DeviceRef& source, const PadFrame& frame,
                  const PadPairs<T>& values) {
  std::size_t axis = frame.rank();
  while (axis > 0 && frame.before(axis - 1) == 0 && frame.after(axis - 1) == 0) --axis;
  const bool has_elements = element_count(frame.inside()) > 0;
  if (axis == 0 || !has_elements || !JoinedRows::has_rows(result, axis - 1)) return false;
  JoinedRows rows(result, --axis);
  const auto before = [&](std::size_t d) { return values.before(d, frame.rank()); };
  const auto after = [&](std::size_t d) { return values.after(d, frame.rank()); };
  for (std::size_t d = 0; d < axis; ++d) {
    const T left = before(d), right = after(d);
    rows.pad(d, frame.before(d), frame.extent(d), &left, &right);
  }
  const T left = before(axis), right = after(axis);
  rows.fill(frame.before(axis), &left);
  rows.add(source, 0, frame.extent(axis));
  rows.fill(frame.after(axis), &right);
  return rows.write();
}

template <PadMode mode, class T>
auto statistic(const DeviceNDArray<T>& values, std::int64_t axis) {
  const ReduceOptions keep{.keepdims = true};
  if constexpr (mode == PadMode::maximum) {
    return eval(max(values, axis, keep));
  } else if constexpr (mode == PadMode::minimum) {
    return eval(min(values, axis, keep));
  } else if constexpr (mode == PadMode::mean) {
    return eval(mean(values, axis, keep));
  } else {
    return medians(values.template astype<fraction_t<T>>(), axis);
  }
}
/// A statistic as elements of T: integers are rounded.
template <class T, class S>
DeviceNDArray<T> as_elements(const DeviceNDArray<S>& values) {
  if constexpr (std::same_as<T, S>) {
    return values;
  } else if constexpr (quarry::detail::is_integer(dtype_of<T>.kind())) {
    return eval(astype<T>(rint(values)));
  } else {
    return eval(astype<T>(values));
  }
}

template <PadMode mode, class T>
void pad_statistic(const DeviceNDArray<T>& result, const PadFrame& frame, std::size_t axis,
                   const std::optional<PadPairs<std::int64_t>>& lengths) {
  const std::int64_t extent = frame.extent(axis);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return frame.part(result, axis, first, count);
  };
  const auto length = [&](std::int64_t given) { return std::min(given, extent); };
  const std::int64_t left = lengths ? length(lengths->before(axis, frame.rank())) : extent;
  const std::int64_t right = lengths ? length(lengths->after(axis, frame.rank())) : extent;
  quarry::detail::require_stat_lengths(left, right);
  const auto of = [&](std::int64_t first, std::int64_t count) {
    return as_elements<T>(statistic<mode>(part(first, count), std::int64_t(axis)));
  };
  const auto first = of(0, left);
  part(-frame.before(axis), frame.before(axis)).assign(first);
  const bool is_same = left == extent && right == extent;
  part(extent, frame.after(axis)).assign(is_same ? first : of(extent - right, right));
}

template <class T>
void pad_ramp(const DeviceNDArray<T>& result, const PadFrame& frame, std::size_t axis,
              const PadPairs<T>& ends) {
  using W = fraction_t<T>;
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return frame.part(result, axis, first, count);
  };
  const auto ramp = [&](const DeviceNDArray<T>& to, const DeviceNDArray<T>& edge, const T& end,
                        std::int64_t count) {
    if (count == 0) return;
    const auto from = astype<W>(full<T>({}, end, {.stream = result.stream()}));
    const auto steps =
        viewed(arange<double>(double(count), {.stream = result.stream()}),
               [&](const Layout& l) { return shape_views::along(l, axis, frame.rank()); });
    const auto step = (astype<W>(edge) - from) / double(count);
    if constexpr (quarry::detail::is_integer(dtype_of<T>.kind())) {
      to.assign(astype<T>(floor(steps * step + from)));
    } else {
      to.assign(astype<T>(steps * step + from));
    }
  };
  const std::int64_t before = frame.before(axis), after = frame.after(axis),
                     extent = frame.extent(axis);
  ramp(part(-before, before), part(0, 1), ends.before(axis, frame.rank()), before);
  ramp(flip(part(extent, after), std::int64_t(axis)), part(extent - 1, 1),
       ends.after(axis, frame.rank()), after);
}

/// Reflections that continue as 2 * edge - element.
template <PadMode mode, class T>
void pad_odd(const DeviceNDArray<T>& result, const PadFrame& frame, std::size_t axis) {
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return frame.part(result, axis, first, count);
  };
  for (const PadMove& move : pad_moves(frame, axis, mode)) {
    const auto to = part(move.to, move.count);
    if (move.kind == PadMove::Kind::edge) {
      to.assign(part(move.from, 1));
    } else {
      const auto from = flip(part(move.from, move.count), std::int64_t(axis));
      to.assign(astype<T>(part(move.edge, 1) * 2 - from));
    }
  }
}

}  // namespace expr

/// `a` with elements before and after each axis, as NumPy's pad: `pad(a, 1)`,
/// `pad<PadMode::wrap>(a, {2, 3})`, `pad(a, {{0, 1}, {2, 2}}, {.constant_values = 5})`. Every
/// element is written once, the new ones by kernels of their own; by one kernel where constant
/// values are around short rows. Throws ShapeError, with the
/// values, for negative widths, for pairs for another number of axes, and where the mode takes
/// values from an axis without elements.
template <PadMode mode = PadMode::constant, expr::Operand A>
auto pad(const A& a, const PadPairs<std::int64_t>& widths,
         const PadOptions<std::remove_const_t<typename A::value_type>>& options = {}) {
  using T = std::remove_const_t<typename A::value_type>;
  const auto& source = expr::settled(a);
  const expr::PadFrame frame(source.shape(), widths, mode);
  const Layout layout = detail::layout_of(source);
  const bool is_fortran = is_f_contiguous(layout, sizeof(T)) && !is_c_contiguous(layout, sizeof(T));
  const DeviceNDArray<T> result(
      frame.shape(),
      ArrayOptions{.stream = detail::home_of(source), .order = is_fortran ? Order::f : Order::c});
  using Source = std::remove_cvref_t<decltype(source)>;
  if constexpr (mode == PadMode::constant && expr::is_array_of<T, Source>) {
    const auto& values = options.constant_values;
    if (expr::write_padded(result, source.ref(), frame, values)) return result;
  }
  expr::viewed(result, [&](const Layout& l) { return frame.inside(l); }).assign(source);
  if (source.size() == 0 && mode != PadMode::constant) return result;
  constexpr bool reflects = mode == PadMode::reflect || mode == PadMode::symmetric;
  if constexpr (mode == PadMode::edge || mode == PadMode::wrap || reflects) {
    if (!reflects || options.reflect_type == Reflect::even) {
      expr::pad_by_moves(result, frame, mode);
      return result;
    }
  }
  for (std::size_t d = 0; d < frame.rank(); ++d) {
    if constexpr (mode == PadMode::constant) {
      const auto fill = [&](std::int64_t first, std::int64_t count, const T& value) {
        frame.part(result, d, first, count).fill(value);
      };
      fill(-frame.before(d), frame.before(d), options.constant_values.before(d, frame.rank()));
      fill(frame.extent(d), frame.after(d), options.constant_values.after(d, frame.rank()));
    } else if constexpr (mode == PadMode::linear_ramp) {
      expr::pad_ramp(result, frame, d, options.end_values);
    } else if constexpr (reflects) {
      if constexpr (Number<T>) expr::pad_odd<mode>(result, frame, d);
    } else if constexpr (mode != PadMode::empty && mode != PadMode::edge && mode != PadMode::wrap) {
      expr::pad_statistic<mode>(result, frame, d, options.stat_length);
    }
  }
  return result;
}

}  // namespace quarry
