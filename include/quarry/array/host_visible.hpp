// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/managed.hpp>

#include <span>
#include <utility>

namespace quarry {

namespace detail {
/// Bytes from element 0 to the one at `position`. Throws IndexError.
std::int64_t element_offset(const Layout& layout, std::span<const std::int64_t> position);
/// Bytes from the first to the last element of an array.
std::span<std::byte> bytes_of(const DeviceNDArrayBase& array);
/// Throws LogicError for an array on a GPU.
void require_host_memory(const DeviceNDArrayBase& array);
/// The elements of an array on the CPU device; same exception.
template <class T>
T* host_elements(const DeviceNDArray<T>& array) {
  require_host_memory(array);
  return reinterpret_cast<T*>(array.device_pointer());
}
void require_view(const ReshapedLayout& plan, const Layout& from, const Shape& to);
void require_c_contiguous(const DeviceNDArrayBase& array);
}  // namespace detail

/// An array whose elements the host can access too; see MappedNDArray and ManagedNDArray. It is
/// a DeviceNDArray in every expression and function, without a copy, and its views have its own
/// type. Host accesses are not ordered with the work in streams: synchronise the stream first.
/// A name can be rebound to another such array only; `a(all) = e` and `a.assign(e)` write into
/// it.
template <class V, MemorySpace where>
class HostVisibleNDArray : public DeviceNDArray<V> {
  using Base = DeviceNDArray<V>;

 public:
  using typename Base::value_type;  ///< V without const

  /// An array whose element 0 is at host address `host`.
  HostVisibleNDArray(const Base& array, std::byte* host) : Base(array), host_(host) {}
  ///@{
  /// Shares the memory; a moved-from array is empty.
  HostVisibleNDArray(const HostVisibleNDArray&) = default;
  HostVisibleNDArray(HostVisibleNDArray&& other) noexcept
      : Base(std::move(other)), host_(std::exchange(other.host_, nullptr)) {}
  ///@}
  /// A read-only view of the same memory.
  HostVisibleNDArray(const HostVisibleNDArray<value_type, where>& other) requires(Base::read_only)
      : Base(other), host_(reinterpret_cast<std::byte*>(other.host_pointer())) {}

  ///@{
  /// Rebinds the name.
  HostVisibleNDArray& operator=(const HostVisibleNDArray&) & = default;
  HostVisibleNDArray& operator=(HostVisibleNDArray&& other) & noexcept {
    std::byte* const host = std::exchange(other.host_, nullptr);
    static_cast<Base&>(*this) = std::move(other);
    host_ = host;
    return *this;
  }
  ///@}
  ///@{
  /// Writes into the elements of a view, as DeviceNDArray's: `a(...) = e`.
  // Assigning elements to themselves is fine. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
  const HostVisibleNDArray& operator=(const HostVisibleNDArray& other) && {
    this->assign(other);
    return *this;
  }
  // It copies elements, which can fail. NOLINTNEXTLINE(performance-noexcept-move-constructor)
  const HostVisibleNDArray& operator=(HostVisibleNDArray&& other) && {
    this->assign(other);
    return *this;
  }
  template <detail::OtherThan<HostVisibleNDArray> X>
  const HostVisibleNDArray& operator=(const X& x) && {
    static_cast<Base&&>(*this) = x;
    return *this;
  }
  ///@}
  /// Does not compile: a name is rebound to another such array only.
  template <detail::OtherThan<HostVisibleNDArray> X>
  HostVisibleNDArray& operator=(const X&) & {
    static_assert(detail::never<X>,
                  "a name of a mapped or managed array is rebound to another such array only: "
                  "a(all) = x and a.fill(x) write into the elements");
    return *this;
  }

  /// The host address of element 0.
  V* host_pointer() const { return reinterpret_cast<V*>(host_); }
  /// The element; negative indices count from the end. Throws IndexError.
  template <Integer... I>
  V& at(I... indices) const {
    const std::int64_t position[] = {Extent(indices).value..., 0};
    return *reinterpret_cast<V*>(host_ +
                                 detail::element_offset(this->layout_, {position, sizeof...(I)}));
  }
  /// The elements in C order. Throws LogicError if they are not C-contiguous.
  std::span<V> host_span() const {
    detail::require_c_contiguous(*this);
    return {host_pointer(), static_cast<std::size_t>(this->size())};
  }
  ///@{
  /// The elements in C order, for loops. Throw LogicError if they are not C-contiguous.
  V* begin() const { return host_span().data(); }
  V* end() const { return begin() + this->size(); }
  ///@}

  ///@{
  /// A view, as DeviceNDArray's; the host can access it too.
  template <std::convertible_to<Index>... I>
  HostVisibleNDArray operator()(const I&... entries) const {
    return seen(Base::operator()(entries...));
  }
  HostVisibleNDArray operator()(std::span<const Index> entries) const {
    return seen(Base::operator()(entries));
  }
  template <class... I>
  requires(detail::Positions<I> || ...) auto operator()(const I&... entries) const {
    return Base::operator()(entries...);
  }
  HostVisibleNDArray operator[](const Index& entry) const { return (*this)(entry); }
  template <detail::Positions I>
  auto operator[](const I& entry) const {
    return (*this)(entry);
  }
  ///@}
  ///@{
  /// A view. Throws ShapeError if the shape would need a copy.
  HostVisibleNDArray reshape(const Shape& to, Order order = Order::c) const {
    const Order read = resolve_order(order, this->layout_, this->dtype_.itemsize());
    detail::require_view(detail::plan_reshape(*this, to, read), this->layout_, to);
    return seen(Base::reshape(to, order));
  }
  HostVisibleNDArray ravel(Order order = Order::c) const {
    const Order read = resolve_order(order, this->layout_, this->dtype_.itemsize());
    detail::require_view(detail::plan_ravel(*this, read), this->layout_, Shape{this->size()});
    return seen(Base::ravel(read));
  }
  ///@}
  ///@{
  /// Views, as DeviceNDArray's.
  HostVisibleNDArray transpose() const { return seen(Base::transpose()); }
  HostVisibleNDArray transpose(const Axes& axes) const { return seen(Base::transpose(axes)); }
  template <Integer... I>
  requires(sizeof...(I) > 0) HostVisibleNDArray transpose(I... axes)
  const { return transpose(Axes{axes...}); }
  HostVisibleNDArray T() const { return transpose(); }
  HostVisibleNDArray squeeze() const { return seen(Base::squeeze()); }
  HostVisibleNDArray squeeze(const Axes& axes) const { return seen(Base::squeeze(axes)); }
  template <Integer I>
  HostVisibleNDArray squeeze(I axis) const {
    return seen(Base::squeeze(axis));
  }
  template <Element U>
  auto view() const {
    using Seen = std::conditional_t<Base::read_only, const U, U>;
    return HostVisibleNDArray<Seen, where>(Base::template view<U>(), host_);
  }
  ///@}
  using Base::field;
  ///@{
  /// Views of a field, as DeviceNDArray's; see fields.hpp.
  template <auto Pointer>
  requires std::is_member_object_pointer_v<decltype(Pointer)>
  auto field() const { return seen_field(Base::template field<Pointer>()); }
  template <detail::FieldName Name>
  auto field() const {
    return seen_field(Base::template field<Name>());
  }
  ///@}
  /// Views of `section` elements of a 1-d array; the last may be smaller.
  std::vector<HostVisibleNDArray> split(std::int64_t section) const {
    std::vector<HostVisibleNDArray> parts;
    for (const Base& part : Base::split(section)) parts.push_back(seen(part));
    return parts;
  }
  /// The same memory, bound to another stream of its device. Throws LogicError for a stream of
  /// another device.
  HostVisibleNDArray bind(const Stream& stream) const { return seen(Base::bind(stream)); }

  ///@{
  /// Sets who may access the allocation of the array, from this point of the stream on; initially
  /// `attach_global` decides.
  void attach(Attach how) const requires(where == MemorySpace::managed) {
    attach(how, detail::stream_for(*this));
  }
  void attach(Attach how, const Stream& stream) const requires(where == MemorySpace::managed) {
    detail::attach_managed(*this->buffer(), how, detail::stream_for(*this, &stream));
  }
  ///@}
  ///@{
  /// Migrates the pages of the elements to a device, or with Device::cpu() to the host, in the
  /// order of the stream.
  void prefetch(const Device& to) const requires(where == MemorySpace::managed) {
    prefetch(to, detail::stream_for(*this));
  }
  void prefetch(const Device& to, const Stream& stream) const
      requires(where == MemorySpace::managed) {
    detail::prefetch_managed(*this->buffer(), detail::bytes_of(*this), to,
                             detail::stream_for(*this, &stream));
  }
  ///@}
  ///@{
  /// How the pages of the elements will be used, by a device or with Device::cpu() by the host.
  void advise(Advice advice, const Device& about) const requires(where == MemorySpace::managed) {
    detail::advise_managed(*this->buffer(), detail::bytes_of(*this), advice, about);
  }
  void advise(Advice advice) const requires(where == MemorySpace::managed) {
    advise(advice, this->device());
  }
  ///@}

 private:
  friend struct detail::Viewer;
  HostVisibleNDArray view(const View& v) const { return seen(Base::view(v)); }
  HostVisibleNDArray seen(const Base& view) const {
    return {view, host_ + (view.device_pointer() - this->data_)};
  }

  template <class U>
  HostVisibleNDArray<U, where> seen_field(const DeviceNDArray<U>& view) const {
    return {view, host_ + (view.device_pointer() - this->data_)};
  }

  std::byte* host_;
};

}  // namespace quarry
