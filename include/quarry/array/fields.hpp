// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray_base.hpp>
#include <quarry/base/record.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

/// Fields of arrays of records: strided views of one member of every element.
namespace quarry {

template <class V>
class DeviceNDArray;
template <class V>
class DeviceRecord;

class UntypedNDArray;
struct ForeignArray;
namespace detail {
/// The field of every record of the array.
UntypedNDArray field_view(const DeviceNDArrayBase& array, const Field& field);
///@{
/// The elements of the array in another shape, and in a row: a view where NumPy gives a view, else
/// a copy.
UntypedNDArray reshape(const DeviceNDArrayBase& array, const Shape& to, Order order);
UntypedNDArray ravel(const DeviceNDArrayBase& array, Order order);
///@}
}  // namespace detail

/// An array whose element type is known at run time only: it has shape, strides and dtype, and
/// prints. `DeviceNDArray<double> m = array;` is the same memory; throws DTypeError if it has other
/// elements, LogicError if it is read-only.
class UntypedNDArray : public DeviceNDArrayBase {
 public:
  /// The same memory.
  explicit UntypedNDArray(const DeviceNDArrayBase& array) : DeviceNDArrayBase(array) {}
  UntypedNDArray(const UntypedNDArray&) = default;      ///< shares the memory
  UntypedNDArray(UntypedNDArray&&) noexcept = default;  ///< leaves an empty array behind
  ///@{
  /// Rebinds a name.
  UntypedNDArray& operator=(const UntypedNDArray&) & = default;
  UntypedNDArray& operator=(UntypedNDArray&&) & noexcept = default;
  ///@}

 private:
  friend UntypedNDArray detail::field_view(const DeviceNDArrayBase& array, const Field& field);
  friend UntypedNDArray adopt_array(const ForeignArray& foreign, std::shared_ptr<void> owner,
                                    const Stream& home);
  /// The elements at `view` of `of`, taken for `type`.
  UntypedNDArray(const DeviceNDArrayBase& of, const View& view, DType type)
      : DeviceNDArrayBase(of, view) {
    dtype_ = type;
  }
  /// Over memory that `buffer` keeps alive; the layout is not checked. Throws LogicError without a
  /// buffer.
  UntypedNDArray(DType type, Layout layout, std::byte* data, std::shared_ptr<Buffer> buffer,
                 bool is_read_only)
      : DeviceNDArrayBase(type, std::move(layout), data, std::move(buffer)) {
    read_only_ = is_read_only;
  }
};

namespace detail {

/// Throws IndexError, with the names that there are, if there is none of that name.
const Field& field_named(const DType& type, std::string_view name);
template <class From, class To>
using WithConstOf = std::conditional_t<std::is_const_v<From>, const To, To>;

}  // namespace detail

/// The fields of an array of records. Fields are views, of the same memory: they are computed with,
/// reduced and written through as any array, and copied to and from the host. The axes of a fixed
/// array are behind those of the records.
template <class A>
class FieldMethods;
/// Of a DeviceNDArray.
template <class V>
class FieldMethods<DeviceNDArray<V>> {
  using Record = std::remove_const_t<V>;
  template <class U>
  using Like = DeviceNDArray<detail::WithConstOf<V, U>>;

 public:
  /// `p.field<&Particle::mass>()`: the field of a pointer to a data member, which QUARRY_RECORD
  /// need not name.
  template <auto Pointer>
  requires std::is_member_object_pointer_v<decltype(Pointer)>
  auto field() const {
    using M = detail::Member<Pointer>;
    static_assert(std::is_base_of_v<typename M::record, Record>,
                  "this is a member of another class than the elements of the array");
    return Like<typename M::element>(detail::field_view(self(), M::template field<Record>()));
  }
  /// `p.field<"mass">()`: the field of that name.
  template <detail::FieldName Name>
  auto field() const {
    return field<detail::pointer_named<Record, Name>()>();
  }
  /// `p.field<double>("mass")`, for names known at run time only. Throws IndexError for a name that
  /// there is not, DTypeError if the field has not these elements.
  template <Element U>
  Like<U> field(std::string_view name) const {
    return Like<U>(field(name));
  }
  /// The same, of any element type.
  UntypedNDArray field(std::string_view name) const {
    return detail::field_view(self(), detail::field_named(self().dtype(), name));
  }
  /// One record, which shares the memory: `p.record(0)`. Throws IndexError, and ShapeError for
  /// another number of indices than axes.
  template <Integer... I>
  auto record(I... indices) const {
    return DeviceRecord<V>(self()(indices...));
  }

 private:
  const DeviceNDArray<V>& self() const { return static_cast<const DeviceNDArray<V>&>(*this); }
};

}  // namespace quarry
