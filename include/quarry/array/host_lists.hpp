// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/expression.hpp>
#include <quarry/array/host_values.hpp>

#include <iterator>
#include <memory>

/// Ranges of the standard library that are no arrays in memory: std::vector<bool>, containers of
/// containers, lists, views such as std::views::iota(0, 5) | std::views::transform(f).
namespace quarry {

namespace detail {

/// A range that is no array of its own.
template <class R>
concept ListOfParts =
    std::ranges::input_range<R> && !OnDevice<std::remove_cvref_t<R>> && !requires(R & r) {
  r.shape();
}
&&!requires(R & r) { r.rows(); };
/// The type of the innermost elements, and the number of lists around them.
template <class V>
struct Listed {
  using value_type = V;
  static constexpr std::size_t depth = 0;
};
template <ListOfParts V>
requires(!std::same_as<std::ranges::range_value_t<V>, V>) struct Listed<V> {
  using Part = Listed<std::ranges::range_value_t<V>>;
  using value_type = typename Part::value_type;
  static constexpr std::size_t depth = Part::depth + 1;
};
/// The range, or if that is a view that changes as it is walked, a copy of the view.
template <class R>
decltype(auto) walkable(R& range) {
  if constexpr (std::ranges::input_range<R>)
    return (range);
  else
    return std::remove_const_t<R>(range);
}

/// Throws ShapeError unless a list at this depth has `length` elements.
void require_listed(const Shape& shape, std::size_t depth, std::size_t length);

}  // namespace detail

/// Numbers or records in ranges of any depth that are no array in memory. Characters are text.
template <class R>
concept HostList =
    detail::ListOfParts<R> && !HostArray<R> && Element<typename detail::Listed<R>::value_type> &&
    !std::same_as<typename detail::Listed<R>::value_type, char> &&
    (std::ranges::forward_range<R> || std::ranges::sized_range<R>);

namespace detail {

/// Values of nested lists in C order. Throws ShapeError if lists of one depth differ in length.
template <class T>
class ListedValues {
 public:
  template <class L>
  explicit ListedValues(const L& list) {
    measure(list);
    values_ = std::make_unique<T[]>(static_cast<std::size_t>(element_count(shape_)));
    each(list, 0, [at = data()](const T& value) mutable { *at++ = value; });
  }
  T* data() const { return values_.get(); }
  const Shape& shape() const { return shape_; }
  /// Into lists of the same lengths.
  template <class L>
  void write(L& list) const {
    each(list, 0, [at = data()](auto&& place) mutable { place = *at++; });
  }

 private:
  template <class L>
  void measure(const L& list) {
    auto&& parts = walkable(list);
    shape_.push_back(static_cast<std::int64_t>(std::ranges::distance(parts)));
    if constexpr (Listed<L>::depth > 1) {
      if (shape_.back() > 0) measure(*std::ranges::begin(parts));
    }
  }
  template <class L, class F>
  void each(L& list, std::size_t axis, F&& f) const {
    auto&& parts = walkable(list);
    require_listed(shape_, axis, static_cast<std::size_t>(std::ranges::distance(parts)));
    for (auto&& part : parts) {
      if constexpr (Listed<std::remove_const_t<L>>::depth > 1)
        each(part, axis + 1, f);
      else
        f(part);
    }
  }

  Shape shape_;
  std::unique_ptr<T[]> values_;
};

template <class C>
C made_list(const Shape& shape, std::size_t axis) {
  C list{};
  const auto length = static_cast<std::size_t>(shape[axis]);
  if constexpr (requires { list.resize(length); }) list.resize(length);
  require_listed(shape, axis, std::ranges::size(list));
  if constexpr (Listed<C>::depth > 1) {
    for (auto& part : list) part = made_list<std::ranges::range_value_t<C>>(shape, axis + 1);
  }
  return list;
}

}  // namespace detail

/// Of values in C order.
template <class T>
struct HostLayoutOf<detail::ListedValues<T>> {
  /// Of the shape of the lists.
  static Layout make(const detail::ListedValues<T>& values) {
    return {values.shape(), c_strides(values.shape(), sizeof(T))};
  }
};

/// Of ranges in each other.
template <HostList R>
struct HostValuesOf<R> {
  /// Reads the range. Throws ShapeError, with the lengths, for lists of different ones.
  static auto make(const R& lists) {
    return detail::ListedValues<typename detail::Listed<R>::value_type>(lists);
  }
};

/// std::vector, std::array, std::deque, ..., and containers of them, one for each axis. Throws
/// ShapeError for another number of axes, and for a std::array of another length.
template <detail::ListOfParts C>
requires(Element<typename detail::Listed<C>::value_type> &&
         !std::ranges::view<C>) struct HostArrayMaker<C> {
  static constexpr std::size_t rank = detail::Listed<C>::depth;  ///< lists in each other
  /// With value-initialised elements.
  static C make(const Shape& shape) {
    detail::require_rank(shape, rank);
    return detail::made_list<C>(shape, 0);
  }
};

}  // namespace quarry
