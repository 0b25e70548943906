// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>

#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#endif

#ifdef __CUDACC__
#define QUARRY_HOST_AND_DEVICE __host__ __device__
#else
#define QUARRY_HOST_AND_DEVICE
#endif

/// For kernels that nvcc compiles: shape and strides of an array by value, and iterators for Thrust
/// and CUB. Other compilers take the same header, for arrays on the CPU device.
namespace quarry {

template <class T, std::size_t rank>
class DeviceView;

/// The elements of a view in C order, whatever its strides: a random access iterator for host and
/// device. Thrust takes it with an execution policy: thrust::reduce(thrust::device, v.begin(),
/// ...).
template <class T, std::size_t rank>
class DeviceViewIterator {
 public:
  ///@{
  /// As of iterators.
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::int64_t;
  using pointer = T*;
  using reference = T&;
  ///@}

  DeviceViewIterator() = default;
  /// The element at this position in C order.
  QUARRY_HOST_AND_DEVICE DeviceViewIterator(const DeviceView<T, rank>& view, std::int64_t position)
      : view_(view), position_(position) {}

  ///@{
  /// As of iterators.
  QUARRY_HOST_AND_DEVICE T& operator*() const { return view_.at(position_); }
  QUARRY_HOST_AND_DEVICE T& operator[](std::int64_t n) const { return view_.at(position_ + n); }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator+=(std::int64_t n) {
    position_ += n;
    return *this;
  }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator-=(std::int64_t n) { return *this += -n; }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator++() { return *this += 1; }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator--() { return *this += -1; }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator operator++(int) {
    const DeviceViewIterator before = *this;
    return ++*this, before;
  }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator operator--(int) {
    const DeviceViewIterator before = *this;
    return --*this, before;
  }
  QUARRY_HOST_AND_DEVICE friend DeviceViewIterator operator+(DeviceViewIterator it,
                                                             std::int64_t n) {
    return it += n;
  }
  QUARRY_HOST_AND_DEVICE friend DeviceViewIterator operator+(std::int64_t n,
                                                             DeviceViewIterator it) {
    return it += n;
  }
  QUARRY_HOST_AND_DEVICE friend DeviceViewIterator operator-(DeviceViewIterator it,
                                                             std::int64_t n) {
    return it -= n;
  }
  QUARRY_HOST_AND_DEVICE friend std::int64_t operator-(const DeviceViewIterator& a,
                                                       const DeviceViewIterator& b) {
    return a.position_ - b.position_;
  }
  QUARRY_HOST_AND_DEVICE friend bool operator==(const DeviceViewIterator& a,
                                                const DeviceViewIterator& b) {
    return a.position_ == b.position_;
  }
  QUARRY_HOST_AND_DEVICE friend bool operator!=(const DeviceViewIterator& a,
                                                const DeviceViewIterator& b) {
    return a.position_ != b.position_;
  }
  QUARRY_HOST_AND_DEVICE friend bool operator<(const DeviceViewIterator& a,
                                               const DeviceViewIterator& b) {
    return a.position_ < b.position_;
  }
  QUARRY_HOST_AND_DEVICE friend bool operator>(const DeviceViewIterator& a,
                                               const DeviceViewIterator& b) {
    return b < a;
  }
  QUARRY_HOST_AND_DEVICE friend bool operator<=(const DeviceViewIterator& a,
                                                const DeviceViewIterator& b) {
    return !(b < a);
  }
  QUARRY_HOST_AND_DEVICE friend bool operator>=(const DeviceViewIterator& a,
                                                const DeviceViewIterator& b) {
    return !(a < b);
  }
  ///@}

 private:
  DeviceView<T, rank> view_;
  std::int64_t position_ = 0;
};

/// Address, extents and strides of an array, to be passed to a kernel by value. It does not keep
/// the memory alive.
template <class T, std::size_t rank_>
class DeviceView {
 public:
  using element_type = T;                         ///< const if the array is read-only
  using iterator = DeviceViewIterator<T, rank_>;  ///< over the elements in C order
  static constexpr std::size_t rank = rank_;      ///< number of axes

  DeviceView() = default;
  /// Strides in elements.
  QUARRY_HOST_AND_DEVICE DeviceView(T* data, const std::int64_t* extents,
                                    const std::int64_t* strides)
      : data_(data) {
    for (int d = 0; d < axes; ++d) {
      extents_[d] = extents[d];
      strides_[d] = strides[d];
    }
  }

  /// The element at these indices, one for each axis, from 0 on; asserts that it is there.
  template <class... I>
  QUARRY_HOST_AND_DEVICE T& operator()(I... indices) const {
    static_assert(sizeof...(I) == rank, "a view takes one index for each axis");
    const std::int64_t list[rank + 1] = {static_cast<std::int64_t>(indices)..., 0};
    std::int64_t offset = 0;
    for (int d = 0; d < axes; ++d) {
      assert(list[d] >= 0 && list[d] < extents_[d]);
      offset += list[d] * strides_[d];
    }
    return data_[offset];
  }
  /// The element at this position in C order.
  QUARRY_HOST_AND_DEVICE T& at(std::int64_t position) const {
    std::int64_t offset = 0;
    if constexpr (rank > 0) {
      assert(position >= 0 && position < size());
      for (int d = axes - 1; d > 0; --d) {
        offset += position % extents_[d] * strides_[d];
        position /= extents_[d];
      }
      offset += position * strides_[0];
    }
    return data_[offset];
  }

  QUARRY_HOST_AND_DEVICE T* data() const { return data_; }  ///< element (0, 0, ...)
  /// Of an axis.
  QUARRY_HOST_AND_DEVICE std::int64_t extent(std::size_t axis) const { return extents_[axis]; }
  /// Of an axis, in elements.
  QUARRY_HOST_AND_DEVICE std::int64_t stride(std::size_t axis) const { return strides_[axis]; }
  /// Number of elements.
  QUARRY_HOST_AND_DEVICE std::int64_t size() const {
    std::int64_t count = 1;
    for (int d = 0; d < axes; ++d) count *= extents_[d];
    return count;
  }
  /// Whether data() is an iterator over the elements in C order, which is faster than begin().
  QUARRY_HOST_AND_DEVICE bool is_contiguous() const {
    std::int64_t dense = 1;
    bool result = true;
    for (int d = axes; d-- > 0;) {
      result = result && (extents_[d] == 1 || strides_[d] == dense);
      dense *= extents_[d];
    }
    return result || dense == 0;
  }
  ///@{
  /// The elements in C order.
  QUARRY_HOST_AND_DEVICE iterator begin() const { return {*this, 0}; }
  QUARRY_HOST_AND_DEVICE iterator end() const { return {*this, size()}; }
  ///@}

#if __has_include(<cuda/std/mdspan>)
  /// The same memory; strides have to be those of an mdspan: positive ones.
  QUARRY_HOST_AND_DEVICE auto mdspan() const {
    using Extents = cuda::std::dextents<std::int64_t, rank>;
    using Mapping = cuda::std::layout_stride::mapping<Extents>;
    cuda::std::array<std::int64_t, rank> extents{}, strides{};
    for (int d = 0; d < axes; ++d) {
      extents[d] = extents_[d];
      strides[d] = strides_[d];
    }
    return cuda::std::mdspan<T, Extents, cuda::std::layout_stride>(
        data_, Mapping(Extents(extents), strides));
  }
#endif

 private:
  static constexpr int axes = int{rank_};

  T* data_ = nullptr;
  std::int64_t extents_[rank_ + 1] = {}, strides_[rank_ + 1] = {};  // an array has one entry
};

/// The view of an array for a kernel, which has to be launched in the order of array.stream(), or
/// after hand_over() in another stream, while the array lives. A read-only array gives elements of
/// const. Throws ShapeError for another number of axes, LogicError for strides that are no whole
/// number of elements (fields of records of odd size).
template <std::size_t rank, class T>
DeviceView<T, rank> device_view(const DeviceNDArray<T>& array) {
  detail::require_rank(array.shape(), rank);
  detail::require_whole_strides(array.layout(), sizeof(T));
  std::int64_t strides[rank + 1] = {};
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    strides[d] = array.shape()[d] > 1 ? array.strides()[d] / std::int64_t{sizeof(T)} : 1;
  }
  return {reinterpret_cast<T*>(array.device_pointer()), array.shape().data(), strides};
}

}  // namespace quarry
