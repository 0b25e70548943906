// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/casting.hpp>
#include <quarry/base/shape.hpp>

#include <concepts>
#include <initializer_list>

/// NumPy's methods, of arrays and of expressions alike.
namespace quarry {

/// The axes of a reduction: all of them, one, or a list. Negative ones count from the end. Empty
/// Axes reduce nothing, as NumPy's axis=(): every element is a result.
class ReduceAxes {
 public:
  ReduceAxes() = default;
  /// A 0-d array has the axes 0 and -1, too.
  template <Integer I>
  ReduceAxes(I axis) : axes_{axis}, one_(true), all_(false) {}
  /// A list in braces, {0, -1}; all axes if it is empty.
  ReduceAxes(std::initializer_list<Extent> axes) : axes_(axes), all_(axes.size() == 0) {}
  /// Exactly these; none if it is empty.
  ReduceAxes(const Axes& axes) : axes_(axes), all_(false) {}
  /// Axes that are known at run time only, as Axes.
  template <IntegerRange R>
  ReduceAxes(const R& axes) : axes_(axes), all_(false) {}
  bool all() const { return all_; }  ///< whether all axes are meant
  /// Whether it is given as a number, not as a list.
  bool one() const { return one_; }
  const Axes& list() const { return axes_; }  ///< as given: negative ones are not resolved

 private:
  Axes axes_;
  bool one_ = false, all_ = true;
};

/// Of a reduction, besides its axes.
struct ReduceOptions {
  bool keepdims = false;  ///< reduced axes stay, with extent 1
};

namespace detail {
template <class...>
inline constexpr bool never = false;
/// First member of options with numbers, so that these have to be named and {1} is an axis.
struct Named {
  explicit constexpr Named() = default;
};
}  // namespace detail

/// Of var and std, besides their axes.
struct VarianceOptions {
  detail::Named named{};  ///< so that the others have to be named
  double ddof = 0;        ///< the divisor is the number of elements less this
  bool keepdims = false;  ///< reduced axes stay, with extent 1
};
/// The types of var's and std's axes. They are a template parameter because g++ 12 also converts
/// {.ddof = 1} to an axis, and then prefers the non-template or more specialised function.
template <class I>
concept AxesArgument = std::convertible_to<const I&, ReduceAxes>;

/// Each method is the function of the same name (ops/reduce.hpp, ops/elementwise.hpp) of the whole
/// array or expression `A`, which derives from this; `all` is all_of.
template <class A>
class ArrayMethods {
 public:
#define QUARRY_REDUCTION(name, ...)                                                \
  auto name(const ReduceAxes& axes = {}, const ReduceOptions& options = {}) const; \
  template <std::same_as<ReduceOptions> O = ReduceOptions>                         \
  auto name(const O& options) const {                                              \
    return name(ReduceAxes(), options);                                            \
  }
#define QUARRY_LOCATION QUARRY_REDUCTION
#include <quarry/kernels/reductions.def>
#undef QUARRY_REDUCTION
#undef QUARRY_LOCATION
  /// The variance.
  template <AxesArgument I = ReduceAxes>
  auto var(const I& axes = {}, const VarianceOptions& options = {}) const;
  /// The same over all axes.
  auto var(const VarianceOptions& options) const;
  /// The root of the variance.
  template <AxesArgument I = ReduceAxes>
  auto std(const I& axes = {}, const VarianceOptions& options = {}) const;
  /// The same over all axes.
  auto std(const VarianceOptions& options) const;
  /// Lazy: the real part.
  auto real() const;
  /// Lazy: the imaginary part.
  auto imag() const;
  /// Lazy: the complex conjugate.
  auto conj() const;
  /// Lazy: to this many decimal places.
  auto round(int decimals = 0) const;
  /// Lazy: clipped at both ends.
  template <class L, class H>
  auto clip(const L& low, const H& high) const;

  /// An array does not convert to a number, even if it has only one element.
  template <Number S>
  operator S() const {
    static_assert(detail::never<S>, "an array is not a number: item() gives its only element");
    return {};
  }
  /// Does not compile: many elements have no single truth value.
  explicit operator bool() const {
    static_assert(detail::never<A>,
                  "many elements have no single truth value: use all_of(e).item(), "
                  "any(e).item() or array_equal(a, b)");
    return false;
  }
};

}  // namespace quarry
