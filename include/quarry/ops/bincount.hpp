// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/kernels/bincount.hpp>
#include <quarry/ops/put.hpp>
#include <quarry/ops/reduce.hpp>

#include <type_traits>

/// NumPy's bincount.
namespace quarry {

namespace expr {

/// Throws LogicError if the stream's work is captured.
void require_bins_known(const Stream& stream);
/// Throws ShapeError, with the values, unless `shape` has one axis and `minlength` is at least 0.
void require_countable(const Shape& shape, std::int64_t minlength);
///@{
/// How many bins there are for elements up to `highest`. Throws, with the value, IndexError for a
/// negative one and SizeOverflow for one whose bin has no number in 63 bits.
std::int64_t bin_count(std::int64_t highest, std::int64_t minlength);
std::int64_t bin_count(std::uint64_t highest, std::int64_t minlength);
///@}

/// The unsigned integer of the same size, in which negative values are the largest ones.
template <class T>
struct Unsigned : std::make_unsigned<T> {};
template <>
struct Unsigned<bool> : std::type_identity<bool> {};

template <class E, int S, class Arrays>
struct BincountProgram;
template <class E, int S, class... In>
struct BincountProgram<E, S, List<In...>> {
  static kernels::program& value() {
    return kernels::program_for<kernels::bincount_of<E, S, In...>>::value;
  }
};

/// Counts the elements of `tree` in new bins.
template <class X>
DeviceNDArray<std::int64_t> count_values(const X& tree, std::int64_t bins) {
  using L = Lowered<X>;
  constexpr int scalars = L::next_scalar + 1;
  const Arguments<X> arguments(tree);
  alignas(16) kernels::u64 values[std::size_t{scalars}][2] = {};
  __builtin_memcpy(values, arguments.scalar, L::next_scalar * sizeof(*values));
  values[L::next_scalar][0] = static_cast<kernels::u64>(bins);
  const auto counts =
      zeros<std::int64_t>({bins}, {.stream = quarry::detail::stream_for(*arguments.array[0])});
  if (tree.shape()[0] == 0 || bins == 0) return counts;
  // for the call it is a reduction of all axes to one place, the first bin
  reduce_into(BincountProgram<typename L::type, scalars, typename L::arrays>::value(), counts(0),
              ReducedShape(tree.shape(), {}, {}), arguments.array, values, false);
  return counts;
}

/// How many bins the elements of `x` have, at least `minlength`; waits for the largest one.
template <Operand X>
std::int64_t bins_of(const X& x, const Extent& minlength) {
  using T = element_t<X>;
  using K = kernel_type_t<T>;
  const auto& tree = as_tree(x);
  require_countable(tree.shape(), minlength.value);
  if (tree.shape()[0] == 0) return minlength.value;
  require_bins_known(quarry::detail::home_of(x));
  using Wide = std::conditional_t<kernels::is_signed<K>, std::int64_t, std::uint64_t>;
  using U = typename Unsigned<T>::type;
  const U highest =
      reduce_tree<kernels::max_of, kernel_type_t<U>, U>(tree_of<U>(x), {}, {}, false, nullptr)
          .item();
  return bin_count(Wide{static_cast<T>(highest)}, minlength.value);
}

/// Whether elements of T can be counted.
template <class T>
inline constexpr bool has_bins =
    kernels::is_integer<kernel_type_t<T>> || kernels::is_bool<kernel_type_t<T>>;

template <Operand X>
consteval void require_bins() {
  static_assert(has_bins<element_t<X>>,
                "bincount counts integers and bools; astype<int>() truncates others");
}
template <Operand W>
consteval void require_real_weights() {
  static_assert(dtype_of<element_t<W>>.kind() <= Kind::floating, "weights are real numbers");
}

/// Throws ShapeError, with both, unless there is a weight for each element.
void require_weights(const Shape& elements, const Shape& weights);

/// The sums, in `bins` bins, of the weights of elements that have no values outside of them.
template <class T, Operand W>
DeviceNDArray<double> sum_weights(const DeviceNDArray<T>& elements, const W& weights,
                                  std::int64_t bins) {
  const auto sums = zeros<double>({bins}, {.stream = quarry::detail::stream_for(elements)});
  if (elements.empty() || bins == 0) return sums;
  const auto places = [&] {
    if constexpr (quarry::detail::is_bool<T>) {
      return elements.template view<std::uint8_t>();
    } else {
      return elements;
    }
  }();
  // a position of every element is there: nothing is checked
  add_at(place_along<IndexMode::clip>(sums, sums, side_view(sums, 0, 1), places),
         astype<double>(weights));
  return sums;
}

}  // namespace expr

/// How many bins there are, whatever the elements are: those that are less than 0, or `bins` or
/// more, are in none. `{.bins = n}`: without its name a number is a minlength.
struct FixedBins {
  detail::ByName named = {};  ///< so that the other one is given by its name
  Extent bins;                ///< their number
};

/// How often each of 0, 1, 2, ... occurs in `x`, an array or expression of integers or bools with
/// one axis: a new array of max(x) + 1 counts, at least `minlength`. Waits for the largest element,
/// from which the length follows; then the counts are queued, in the stream of `x`. An expression
/// is computed twice, and never stored. Throws ShapeError unless `x` has one axis and for a
/// negative `minlength`, IndexError for a negative element, SizeOverflow or MemoryError where there
/// is no room for so many counts.
template <expr::Operand X>
DeviceNDArray<std::int64_t> bincount(const X& x, const Extent& minlength = 0) {
  constexpr bool has_bins = expr::has_bins<expr::element_t<X>>;
  static_assert(has_bins, "bincount counts integers and bools; astype<int>() truncates others");
  if constexpr (has_bins) {
    const std::int64_t bins = expr::bins_of(x, minlength);
    return expr::count_values(expr::as_tree(x), bins);
  } else {
    return expr::no_result<std::int64_t>();
  }
}
/// The same in a known number of bins. Queued; does not wait, and can be captured into a graph.
/// Throws ShapeError unless `x` has one axis and for a negative number of bins.
template <expr::Operand X>
DeviceNDArray<std::int64_t> bincount(const X& x, const FixedBins& fixed) {
  expr::require_bins<X>();
  expr::require_countable(x.shape(), fixed.bins.value);
  return expr::count_values(expr::as_tree(x), fixed.bins.value);
}

/// The sum of the weights of the elements that are 0, 1, 2, ...: an array or expression of real
/// numbers with a weight for each element of `x`. Sums are in float64, and exact before they are
/// rounded, as those of add_at: the same in every run. Throws ShapeError also for another number of
/// weights. An expression of positions is stored.
template <expr::Operand X, expr::Operand W>
DeviceNDArray<double> bincount(const X& x, const W& weights, const Extent& minlength = 0) {
  expr::require_bins<X>();
  expr::require_real_weights<W>();
  const auto& elements = eval(x);
  expr::require_weights(elements.shape(), weights.shape());
  return expr::sum_weights(elements, weights, expr::bins_of(elements, minlength));
}
/// The same in a known number of bins; see there.
template <expr::Operand X, expr::Operand W>
DeviceNDArray<double> bincount(const X& x, const W& weights, const FixedBins& fixed) {
  expr::require_bins<X>();
  expr::require_real_weights<W>();
  const auto& elements = eval(x);
  expr::require_weights(elements.shape(), weights.shape());
  expr::require_countable(elements.shape(), fixed.bins.value);
  const auto is_counted = elements >= 0 && elements < fixed.bins.value;
  return expr::sum_weights(elements, where(is_counted, astype<double>(weights), 0.0),
                           fixed.bins.value);
}

}  // namespace quarry
