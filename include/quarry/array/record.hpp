// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>

/// A single record on a device.
namespace quarry {

namespace detail {
[[noreturn]] void throw_no_single_record(const Shape& shape);

/// `value`, which has the elements of the view in C order.
HostRef host_value(const DeviceNDArrayBase& view, const void* value);

/// The type of a member on the host: a fixed array is a std::array.
template <class M>
struct HostValue {
  using type = M;
};
template <class M, std::size_t N>
struct HostValue<M[N]> {
  using type = std::array<typename HostValue<M>::type, N>;
};
}  // namespace detail

/// One record on a device, as Numba's DeviceRecord: an array of shape () whose fields are read and
/// written one by one. A handle: copying it shares the memory. DeviceRecord<const T> is read-only.
template <class V>
class DeviceRecord : public DeviceNDArray<V> {
  using Base = DeviceNDArray<V>;

 public:
  using Base::copy_to_device;
  using Base::field;
  using typename Base::value_type;  ///< V without const

  /// A field on the host: its type, and std::array for a fixed array.
  template <auto Pointer>
  using HostField = typename detail::HostValue<typename detail::Member<Pointer>::type>::type;

  /// Uninitialised.
  explicit DeviceRecord(const ArrayOptions& options = {}) : Base(Shape{}, options) {}
  /// Over memory that `buffer` keeps alive. Throws IndexError if the record lies outside of it.
  DeviceRecord(std::byte* data, std::shared_ptr<Buffer> buffer)
      : Base(Layout{}, data, std::move(buffer)) {}
  /// The same memory. Throws ShapeError unless the array has shape ().
  explicit DeviceRecord(const Base& array) : Base(array) {
    if (array.ndim() != 0) detail::throw_no_single_record(array.shape());
  }

  DeviceRecord(const DeviceRecord&) = default;      ///< shares the memory
  DeviceRecord(DeviceRecord&&) noexcept = default;  ///< leaves an empty array behind
  ///@{
  /// A name is rebound.
  DeviceRecord& operator=(const DeviceRecord&) & = default;
  DeviceRecord& operator=(DeviceRecord&&) & noexcept = default;
  ///@}
  ///@{
  /// The record of a view is written: `p.record(0) = p.record(1)`.
  // Assigning a record to itself is fine. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
  const DeviceRecord& operator=(const DeviceRecord& other) && {
    this->assign(static_cast<const Base&>(other));
    return *this;
  }
  const DeviceRecord& operator=(const value_type& host) && {
    this->fill(host);
    return *this;
  }
  ///@}

  /// The record; waits for it.
  value_type copy_to_host() const { return this->item(); }
  /// The same in the order of `stream`.
  value_type copy_to_host(const Stream& stream) const { return this->bind(stream).item(); }
  /// Waits for the copy.
  void copy_to_host(value_type& host) const { host = copy_to_host(); }
  /// Queued in `stream`; `host` must live until the copy is done.
  void copy_to_host(value_type& host, const Stream& stream) const {
    download(detail::host_value(*this, &host), this->ref(), detail::stream_for(*this, &stream),
             false);
  }
  /// Queued; does not wait.
  void copy_to_device(const value_type& host) const requires(!Base::read_only) { this->fill(host); }
  /// Queued in `stream`; `host` may be reused on return.
  void copy_to_device(const value_type& host, const Stream& stream) const
      requires(!Base::read_only) {
    this->bind(stream).fill(host);
  }

  ///@{
  /// A field on the host, by pointer to member or by name: `r.get<&Particle::mass>()`. Waits for
  /// it.
  template <auto Pointer>
  HostField<Pointer> get() const {
    HostField<Pointer> value;
    const auto view = this->template field<Pointer>();
    download(detail::host_value(view, &value), view.ref(), detail::stream_for(*this), true);
    return value;
  }
  template <detail::FieldName Name>
  auto get() const {
    return get<detail::pointer_named<value_type, Name>()>();
  }
  ///@}
  ///@{
  /// Writes a field. Queued; does not wait.
  template <auto Pointer>
  void set(const HostField<Pointer>& value) const requires(!Base::read_only) {
    set<Pointer>(value, detail::stream_for(*this));
  }
  template <auto Pointer>
  void set(const HostField<Pointer>& value, const Stream& stream) const requires(!Base::read_only) {
    const auto view = this->template field<Pointer>();
    upload(view.ref(), detail::host_value(view, &value), detail::stream_for(*this, &stream), false);
  }
  template <detail::FieldName Name>
  void set(const HostField<detail::pointer_named<value_type, Name>()>& value) const
      requires(!Base::read_only) {
    set<detail::pointer_named<value_type, Name>()>(value);
  }
  template <detail::FieldName Name>
  void set(const HostField<detail::pointer_named<value_type, Name>()>& value,
           const Stream& stream) const requires(!Base::read_only) {
    set<detail::pointer_named<value_type, Name>()>(value, stream);
  }
  ///@}
};

/// A record on a device; queued, does not wait.
template <detail::Record T>
DeviceRecord<T> to_device(const T& record, const ArrayOptions& options = {}) {
  const DeviceRecord<T> result(options);
  fill_elements(result.ref(), &record, result.stream());  // the given stream, else the guard's
  return result;
}

}  // namespace quarry
