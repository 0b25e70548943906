// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/expression.hpp>
#include <quarry/array/fields.hpp>
#include <quarry/array/host_copies.hpp>
#include <quarry/array/host_values.hpp>
#include <quarry/array/methods.hpp>
#include <quarry/array/ndarray_base.hpp>

#include <initializer_list>
#include <memory>
#include <vector>

namespace quarry {

/// An array on a device, as numpy.ndarray: `=` on a name rebinds it, `=` on a view (`a(...) = e`)
/// writes through it. DeviceNDArray<const T> is a read-only view. Operations are queued in stream
/// order and do not wait, except for copies to and from the host without a stream.
template <class V>
class DeviceNDArray : public DeviceNDArrayBase,
                      public ArrayMethods<DeviceNDArray<V>>,
                      public FieldMethods<DeviceNDArray<V>>,
                      public HostCopyMethods<DeviceNDArray<V>> {
  static_assert(Element<std::remove_const_t<V>>, "not a type that an array can hold");

 public:
  using value_type = std::remove_const_t<V>;             ///< V without const
  using quarry_array = void;                             ///< tells arrays from other types
  static constexpr bool read_only = std::is_const_v<V>;  ///< whether elements can only be read

  /// Shape (0,).
  DeviceNDArray() : DeviceNDArray(Shape{0}) {}
  /// Uninitialised.
  explicit DeviceNDArray(const Shape& shape, const ArrayOptions& options = {})
      : DeviceNDArrayBase(dtype_of<value_type>, shape, options) {}
  /// Uninitialised, in C order; its home is `stream`.
  DeviceNDArray(const Shape& shape, const Stream& stream)
      : DeviceNDArrayBase(dtype_of<value_type>, shape, stream, Order::c) {}
  /// Uninitialised, with the order of axes and in the stream of what it is computed from.
  explicit DeviceNDArray(const detail::ComputedFrom& from)
      : DeviceNDArrayBase(dtype_of<value_type>, from) {}
  /// A view of memory that `buffer` keeps alive. Throws IndexError if an element lies outside of
  /// it, ShapeError for an invalid layout, LogicError without a buffer.
  DeviceNDArray(Layout layout, std::byte* data, std::shared_ptr<Buffer> buffer)
      : DeviceNDArrayBase(dtype_of<value_type>, std::move(layout), data, std::move(buffer)) {
    read_only_ = read_only;
    detail::require_inside(*this);
  }
  DeviceNDArray(const DeviceNDArray&) = default;      ///< shares the memory
  DeviceNDArray(DeviceNDArray&&) noexcept = default;  ///< leaves an empty array behind
  /// A read-only view of the same memory.
  DeviceNDArray(const DeviceNDArray<value_type>& other) requires read_only
      : DeviceNDArrayBase(other) {
    read_only_ = true;
  }
  /// Does not compile: an array is not made from a read-only one; use copy().
  DeviceNDArray(const DeviceNDArray<const value_type>&) requires(!read_only) = delete;
  /// The same memory. Throws DTypeError if `base` has another dtype, LogicError if it is read-only
  /// and V is not const.
  explicit DeviceNDArray(const DeviceNDArrayBase& base) : DeviceNDArrayBase(base) {
    if (!(base.dtype() == dtype_of<value_type>)) {
      detail::throw_wrong_dtype(dtype_of<value_type>, base.dtype());
    }
    if (!read_only && base.is_read_only()) detail::throw_read_only(base);
    dtype_ = dtype_of<value_type>;  // that of an array from another process has no fields
    read_only_ = read_only;
  }
  /// The same memory; see fields.hpp.
  DeviceNDArray(const UntypedNDArray& array)
      : DeviceNDArray(static_cast<const DeviceNDArrayBase&>(array)) {}
  /// Does not compile: astype<T>() converts elements.
  template <class U>
  requires(!std::is_same_v<std::remove_const_t<U>, value_type>)
      DeviceNDArray(const DeviceNDArray<U>& other)
      : DeviceNDArrayBase(other) {
    static_assert(detail::never<U>,
                  "an array does not change its element type by itself: use a.astype<T>()");
  }
  /// Evaluates in one kernel.
  template <Expression E>
  DeviceNDArray(const E& e) requires(!read_only)
      : DeviceNDArray(e.template evaluate<value_type>()) {}

  ///@{
  /// A named array is rebound; an expression is evaluated in one kernel.
  DeviceNDArray& operator=(const DeviceNDArray&) & = default;
  DeviceNDArray& operator=(DeviceNDArray&&) & noexcept = default;
  template <Expression E>
  DeviceNDArray& operator=(const E& e) & {
    static_assert(!read_only, "an array of const elements cannot be computed into");
    return *this = e.template evaluate<value_type>();
  }
  template <class X>
  requires(!detail::OnDevice<X>) DeviceNDArray& operator=(const X&) & {
    static_assert(detail::never<X>,
                  "a name is rebound to an array or an expression: a.fill(x) and a(all) = x write "
                  "into the elements, a = to_device(h) brings host memory");
    return *this;
  }
  ///@}
  ///@{
  /// A view (an rvalue) is written through, as by assign().
  const DeviceNDArray& operator=(const DeviceNDArray& other) && { return written(other); }
  // It copies elements, which can fail. NOLINTNEXTLINE(performance-noexcept-move-constructor)
  const DeviceNDArray& operator=(DeviceNDArray&& other) && { return written(other); }
  template <detail::OtherThan<V> U>
  const DeviceNDArray& operator=(const DeviceNDArray<U>& other) && {
    return written(other);
  }
  template <Expression E>
  const DeviceNDArray& operator=(const E& e) && {
    return written(e);
  }
  ///@}
  /// Host memory whose shape broadcasts; waits for the copy.
  template <class H>
  requires(!detail::OnDevice<H> && !detail::ElementValue<H, value_type>) const DeviceNDArray&
  operator=(const H& host) && {
    if constexpr (HostArray<H>) {
      write_host(host);
    } else if constexpr (Number<H>) {
      static_assert(detail::never<H>,
                    "this number would lose its kind in these elements: convert it first");
    } else {
      write_host(HostValuesOf<H>::make(host));
    }
    return *this;
  }
  /// As fill().
  template <detail::ElementValue<value_type> S>
  const DeviceNDArray& operator=(const S& value) && {
    fill(value);
    return *this;
  }

  /// Writes an array (which broadcasts), or an expression, into the elements of this one; converts
  /// as NumPy's same-kind casting allows. If both overlap, the result is as with a temporary.
  void assign(const DeviceNDArray<value_type>& other) const requires(!read_only) {
    copy_elements(ref(), other.ref(), detail::stream_for(*this));
  }
  /// The same of an expression, in one kernel.
  template <class E>
  void assign(const E& e) const {
    if constexpr (std::is_base_of_v<DeviceNDArray<value_type>, E> && !read_only) {
      assign(static_cast<const DeviceNDArray<value_type>&>(e));
    } else if constexpr (read_only) {
      static_assert(detail::never<E>, QUARRY_READ_ONLY);
    } else {
      assign_expression(*this, e);  // found by ADL: expr/evaluate.hpp
    }
  }
  /// Every element becomes `value`. Queued; does not wait.
  void fill(const value_type& value) const requires(!read_only) {
    fill_elements(ref(), &value, detail::stream_for(*this));
  }
  /// A number is converted. Throws DTypeError for an integer that does not fit.
  template <detail::ElementValue<value_type> S>
  void fill(const S& value) const requires(!read_only && !std::same_as<S, value_type>) {
    if constexpr (Number<value_type>) {
      const auto element = detail::scalar_as<kernel_type_t<value_type>>(value);
      fill_elements(ref(), &element, detail::stream_for(*this));
    } else {
      fill(static_cast<value_type>(value));
    }
  }
  /// Does not compile: the elements are read-only.
  template <class S>
  void fill(const S&) const requires read_only {
    static_assert(detail::never<S>, QUARRY_READ_ONLY);
  }

  /// A view: integers drop an axis, ranges keep it; see view.hpp.
  template <std::convertible_to<Index>... I>
  DeviceNDArray operator()(const I&... entries) const {
    const Index list[sizeof...(I) + 1] = {Index(entries)..., Index(newaxis)};
    return view(index(layout_, {list, sizeof...(I)}));
  }
  /// The same with a number of entries known only at run time.
  DeviceNDArray operator()(std::span<const Index> entries) const {
    return view(index(layout_, entries));
  }
  /// The elements at positions, as NumPy's index arrays: an expression, and a place that can be
  /// assigned to; see ops/indexing.hpp.
  template <class... I>
  requires(detail::Positions<I> || ...) auto operator()(const I&... entries) const {
    return index_by(*this, entries...);  // found by ADL: ops/indexing.hpp
  }
  /// The elements for which the mask, an array or expression of bools, is true, or with fewer axes
  /// the rows: an expression, and a place that can be assigned to. See ops/select.hpp.
  template <detail::Mask M>
  auto operator()(const M& mask) const {
    return select(*this, mask);  // found by ADL
  }
  DeviceNDArray operator[](const Index& entry) const { return (*this)(entry); }  ///< a(entry)
  /// a(entry)
  template <detail::Positions I>
  auto operator[](const I& entry) const {
    return (*this)(entry);
  }

  /// The element of an array of one element; waits for it. Throws ShapeError if there are more or
  /// none.
  value_type item() const {
    value_type value{};
    detail::read_item(*this, &value);
    return value;
  }

  /// An independent array with the same elements, in C order.
  DeviceNDArray<value_type> copy() const {
    DeviceNDArray<value_type> result(shape(), {.stream = detail::stream_for(*this)});
    result.assign(DeviceNDArray<value_type>(layout_, data_, buffer()));
    return result;
  }
  /// The elements converted as by NumPy's astype; always an independent array.
  template <Number U>
  DeviceNDArray<U> astype() const {
    return convert_elements<U>(*this);  // found by ADL: expr/evaluate.hpp
  }

  /// The same elements in another shape (one extent may be -1): a view where NumPy gives a view,
  /// else a copy.
  DeviceNDArray reshape(const Shape& to, Order order = Order::c) const {
    return detail::reshape(*this, to, order);
  }
  /// One-dimensional: a view of an array that is contiguous in `order`, else a copy.
  DeviceNDArray ravel(Order order = Order::c) const { return detail::ravel(*this, order); }
  /// The same, bound to `stream`, in which a copy is queued.
  DeviceNDArray ravel(const Stream& stream, Order order = Order::c) const {
    const StreamGuard guard(stream);  // takes precedence over one that there is
    return bind(stream).ravel(order).bind(stream);
  }
  /// As ravel, but always an independent array.
  DeviceNDArray<value_type> flatten(Order order = Order::c) const {
    const auto flat = ravel(order);
    if (flat.buffer() == buffer()) return flat.copy();
    return DeviceNDArray<value_type>(flat.layout(), flat.address(), flat.buffer());
  }
  /// A view with the axes reversed.
  DeviceNDArray transpose() const { return view({quarry::transpose(layout_), 0}); }
  /// A view whose axis d is axis axes[d]. Throws ShapeError if `axes` is no permutation.
  DeviceNDArray transpose(const Axes& axes) const {
    return view({quarry::transpose(layout_, axes), 0});
  }
  /// The same with the axes as arguments: a.transpose(1, 0).
  template <Integer... I>
  requires(sizeof...(I) > 0) DeviceNDArray transpose(I... axes)
  const { return transpose(Axes{axes...}); }
  DeviceNDArray T() const { return transpose(); }  ///< as transpose()
  /// A view without the axes of extent 1.
  DeviceNDArray squeeze() const { return view({quarry::squeeze(layout_), 0}); }
  /// A view without these axes. Throws ShapeError if one has not extent 1.
  DeviceNDArray squeeze(const Axes& axes) const {
    return view({quarry::squeeze(layout_, axes), 0});
  }
  /// A view without this axis. Throws ShapeError if it has not extent 1. A 0-d array takes the axes
  /// 0 and -1, as in NumPy, and stays as it is.
  template <Integer I>
  DeviceNDArray squeeze(I axis) const {
    return view({squeeze_axis(layout_, static_cast<std::int64_t>(axis)), 0});
  }
  /// A read-only view that repeats the elements; see NumPy's broadcast_to.
  DeviceNDArray<const value_type> broadcast_to(const Shape& to) const {
    return {*this, View{quarry::broadcast_to(layout_, to), 0}};
  }
  /// The same memory as elements of U. The last axis becomes longer or shorter if their size is
  /// another one: it must then be dense and a whole number of them. Throws ShapeError.
  template <Element U>
  auto view() const {
    using Seen = std::conditional_t<read_only, const U, U>;
    return DeviceNDArray<Seen>(*this, items(layout_, sizeof(V), sizeof(U)));
  }
  /// Views of `section` elements of a 1-d array; the last may be smaller.
  std::vector<DeviceNDArray> split(std::int64_t section) const {
    std::vector<DeviceNDArray> parts;
    for (const std::int64_t at : detail::split_points(layout_, section)) {
      parts.push_back((*this)(range(at, at + section)));
    }
    return parts;
  }
  /// The same, bound to `stream`.
  std::vector<DeviceNDArray> split(std::int64_t section, const Stream& stream) const {
    return bind(stream).split(section);
  }

  /// The same memory, bound to another stream of its device. Throws LogicError for a stream of
  /// another device.
  DeviceNDArray bind(const Stream& stream) const {
    DeviceNDArray result = *this;
    result.bound_ = std::make_shared<const Stream>(detail::stream_for(*this, &stream));
    return result;
  }

 protected:
  friend struct detail::Viewer;
  /// Every view is made here.
  DeviceNDArray view(const View& v) const { return DeviceNDArray(*this, v); }

 private:
  template <class>
  friend class DeviceNDArray;
  DeviceNDArray(const DeviceNDArrayBase& of, const View& view) : DeviceNDArrayBase(of, view) {
    dtype_ = dtype_of<value_type>;
    read_only_ = read_only;
  }
  template <class X>
  const DeviceNDArray& written(const X& x) const {
    assign(x);
    return *this;
  }
  template <class H>
  void write_host(const H& host) const {
    const Shape shape = host_ref(host).layout.shape;
    if (shape == this->shape()) return this->copy_to_device(host);
    if constexpr (!read_only) {
      DeviceNDArray<host_value_t<const H>> values(shape, detail::stream_for(*this));
      values.copy_to_device(host);
      assign(values);
    }
  }
};

}  // namespace quarry
