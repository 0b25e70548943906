// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/host_copies.hpp>
#include <quarry/expr/evaluate.hpp>

/// Arrays whose number of axes is known to the compiler.
namespace quarry {

template <class V, std::size_t rank>
class RankedNDArray;

namespace detail {

/// Throws ShapeError unless there are so many axes.
inline void require_static_rank(const Shape& shape, std::size_t rank) {
  require<ShapeError>(shape.size() == rank, [&] {
    return "an array of " + std::to_string(shape.size()) + " axes, shape " + to_string(shape) +
           ", for a RankedNDArray of " + std::to_string(rank);
  });
}

/// What an entry of an index does with the number of axes.
template <class I>
inline constexpr std::size_t axes_taken =
    std::is_same_v<I, NewAxis> || std::is_same_v<I, Ellipsis> ? 0 : 1;
template <class I>
inline constexpr std::size_t axes_made = Integer<I> || std::is_same_v<I, Ellipsis> ? 0 : 1;

/// The rank of a container, if its type has one.
template <class H>
inline constexpr std::size_t container_rank = any_rank;
template <class H>
requires requires { HostArrayMaker<H>::rank; }
inline constexpr std::size_t container_rank<H> = HostArrayMaker<H>::rank;

}  // namespace detail

/// A DeviceNDArray of `rank` axes: it is one in every expression and function, and made from one,
/// or from an expression, which throws ShapeError if the number of axes is another. What gives
/// another number of axes by its types (`a(0)`, `a(all, newaxis)`) is a RankedNDArray of that
/// number; results of the other members and functions are DeviceNDArrays. Wrong ranks do not
/// compile: too many indices, assignment of another rank, a host container of another rank.
template <class V, std::size_t rank_>
class RankedNDArray : public DeviceNDArray<V> {
  static_assert(rank_ <= max_rank, "an array has at most 32 axes");
  using Base = DeviceNDArray<V>;

 public:
  using typename Base::value_type;            ///< V without const
  static constexpr std::size_t rank = rank_;  ///< number of axes

  /// Without elements; of rank 0 with one.
  RankedNDArray() : Base(Shape::filled(rank, 0)) {}
  /// Uninitialised. Throws ShapeError for another number of extents.
  explicit RankedNDArray(const Shape& shape, const ArrayOptions& options = {})
      : RankedNDArray(Base(shape, options)) {}
  ///@{
  /// The same memory. Throws ShapeError for another number of axes.
  RankedNDArray(const Base& array) : Base(array) {
    detail::require_static_rank(this->shape(), rank);
  }
  RankedNDArray(Base&& array) : Base(std::move(array)) {
    detail::require_static_rank(this->shape(), rank);
  }
  ///@}
  /// A read-only view of the same memory.
  RankedNDArray(const RankedNDArray<value_type, rank>& array) requires(Base::read_only)
      : Base(static_cast<const DeviceNDArray<value_type>&>(array)) {}
  /// Does not compile: the number of axes is another.
  template <class U, std::size_t other>
  requires(other != rank) RankedNDArray(const RankedNDArray<U, other>& array) : Base(array) {
    static_assert(detail::never<U>, "the number of axes of this array is another one");
  }
  /// Evaluates in one kernel. Throws ShapeError for another number of axes.
  template <Expression E>
  RankedNDArray(const E& e) requires(!Base::read_only) : RankedNDArray(Base(e)) {}
  ///@{
  /// Shares the memory.
  RankedNDArray(const RankedNDArray&) = default;
  RankedNDArray(RankedNDArray&&) noexcept = default;
  ///@}

  ///@{
  /// A name is rebound, as DeviceNDArray's. Throws ShapeError for another number of axes.
  RankedNDArray& operator=(const RankedNDArray&) & = default;
  RankedNDArray& operator=(RankedNDArray&&) & noexcept = default;
  template <detail::OtherThan<RankedNDArray> X>
  RankedNDArray& operator=(const X& x) & {
    if constexpr (detail::OnDevice<X>)
      return *this = RankedNDArray(x);
    else
      return static_cast<Base&>(*this) = x, *this;
  }
  ///@}
  ///@{
  /// Writes into the elements of a view, as DeviceNDArray's: `a(...) = e`.
  // Assigning elements to themselves is fine. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
  const RankedNDArray& operator=(const RankedNDArray& other) && {
    return this->assign(other), *this;
  }
  // It copies elements, which can fail. NOLINTNEXTLINE(performance-noexcept-move-constructor)
  const RankedNDArray& operator=(RankedNDArray&& other) && { return this->assign(other), *this; }
  template <detail::OtherThan<RankedNDArray> X>
  const RankedNDArray& operator=(const X& x) && {
    return static_cast<Base&&>(*this) = x, *this;
  }
  ///@}

  ///@{
  /// A view, as DeviceNDArray's. More entries than axes do not compile.
  template <std::convertible_to<Index>... I>
  auto operator()(const I&... entries) const {
    if constexpr ((std::is_same_v<I, Index> || ...)) {
      return Base::operator()(entries...);
    } else {
      constexpr std::size_t taken = (0 + ... + detail::axes_taken<I>);
      static_assert(taken <= rank, "there are more indices than axes");
      constexpr std::size_t left = taken <= rank ? rank - taken : 0;
      return RankedNDArray<V, left + (0 + ... + detail::axes_made<I>)>(
          Base::operator()(entries...));
    }
  }
  Base operator()(std::span<const Index> entries) const { return Base::operator()(entries); }
  template <class... I>
  requires(detail::Positions<I> || ...) auto operator()(const I&... entries) const {
    return Base::operator()(entries...);
  }
  template <class I>
  auto operator[](const I& entry) const {
    return (*this)(entry);
  }
  ///@}

  using Base::copy_to_host;
  /// As DeviceNDArray's; a container with another number of axes does not compile.
  template <class H>
  H copy_to_host() const {
    constexpr std::size_t wanted = detail::container_rank<H>;
    static_assert(wanted == any_rank || wanted == rank,
                  "the number of axes of this container is another one");
    return Base::template copy_to_host<H>();
  }

  ///@{
  /// As DeviceNDArray's.
  RankedNDArray<value_type, rank> copy() const { return Base::copy(); }
  template <Number U>
  RankedNDArray<U, rank> astype() const {
    return Base::template astype<U>();
  }
  template <Element U>
  auto view() const {
    return RankedNDArray<std::conditional_t<Base::read_only, const U, U>, rank>(
        Base::template view<U>());
  }
  RankedNDArray<V, 1> ravel(Order order = Order::c) const { return Base::ravel(order); }
  RankedNDArray<V, 1> ravel(const Stream& stream, Order order = Order::c) const {
    return Base::ravel(stream, order);
  }
  RankedNDArray<value_type, 1> flatten(Order order = Order::c) const {
    return Base::flatten(order);
  }
  RankedNDArray transpose() const { return Base::transpose(); }
  RankedNDArray transpose(const Axes& axes) const { return Base::transpose(axes); }
  template <Integer... I>
  requires(sizeof...(I) > 0) RankedNDArray transpose(I... axes)
  const {
    static_assert(sizeof...(I) == rank, "transpose takes every axis once");
    return transpose(Axes{axes...});
  }
  RankedNDArray T() const { return Base::transpose(); }
  RankedNDArray bind(const Stream& stream) const { return Base::bind(stream); }
  ///@}

 private:
  friend struct detail::Viewer;
  Base view(const View& v) const { return Base::view(v); }
};

}  // namespace quarry
