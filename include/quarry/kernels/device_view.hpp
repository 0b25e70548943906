// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#ifndef __CUDACC_RTC__
#include <cassert>
#include <iterator>
#endif

#ifdef __CUDACC_RTC__
#define QUARRY_HOST_AND_DEVICE __device__
#elif defined(__CUDACC__)
#define QUARRY_HOST_AND_DEVICE __host__ __device__
#else
#define QUARRY_HOST_AND_DEVICE
#endif

#if !defined(__CUDACC_RTC__)
#define QUARRY_VIEW_ASSERT(condition) assert(condition)
#elif defined(__CUDACC_DEBUG__)
#define QUARRY_VIEW_ASSERT(condition) ((condition) ? void() : __trap())
#else
#define QUARRY_VIEW_ASSERT(condition) void()
#endif

/// Shape and strides of an array by value, for kernels of any compiler.
extern "C++" {  // the source of a SourceModule is in extern "C"

namespace quarry::kernels {
using index_type = long;               ///< std::int64_t
using size_type = decltype(sizeof 0);  ///< std::size_t
template <class T>
struct without_const {
  using type = T;
};
template <class T>
struct without_const<const T> {
  using type = T;
};
}  // namespace quarry::kernels

namespace quarry {

template <class T, kernels::size_type rank>
class DeviceView;

/// The elements of a view in C order, whatever its strides: a random access iterator for host and
/// device. Thrust takes it with an execution policy: thrust::reduce(thrust::device, v.begin(),
/// ...).
template <class T, kernels::size_type rank>
class DeviceViewIterator {
 public:
  ///@{
  /// As of iterators.
#ifndef __CUDACC_RTC__
  using iterator_category = std::random_access_iterator_tag;
#endif
  using value_type = typename kernels::without_const<T>::type;
  using difference_type = kernels::index_type;
  using pointer = T*;
  using reference = T&;
  ///@}

  DeviceViewIterator() = default;
  /// The element at this position in C order.
  QUARRY_HOST_AND_DEVICE DeviceViewIterator(const DeviceView<T, rank>& view,
                                            kernels::index_type position)
      : view_(view), position_(position) {}

  ///@{
  /// As of iterators.
  QUARRY_HOST_AND_DEVICE T& operator*() const { return view_.at(position_); }
  QUARRY_HOST_AND_DEVICE T& operator[](kernels::index_type n) const {
    return view_.at(position_ + n);
  }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator+=(kernels::index_type n) {
    position_ += n;
    return *this;
  }
  QUARRY_HOST_AND_DEVICE DeviceViewIterator& operator-=(kernels::index_type n) {
    return *this += -n;
  }
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
                                                             kernels::index_type n) {
    return it += n;
  }
  QUARRY_HOST_AND_DEVICE friend DeviceViewIterator operator+(kernels::index_type n,
                                                             DeviceViewIterator it) {
    return it += n;
  }
  QUARRY_HOST_AND_DEVICE friend DeviceViewIterator operator-(DeviceViewIterator it,
                                                             kernels::index_type n) {
    return it -= n;
  }
  QUARRY_HOST_AND_DEVICE friend kernels::index_type operator-(const DeviceViewIterator& a,
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
  kernels::index_type position_ = 0;
};

/// Address, extents and strides of an array, to be passed to a kernel by value. It does not keep
/// the memory alive.
template <class T, kernels::size_type rank_>
class DeviceView {
 public:
  using element_type = T;                            ///< const if the array is read-only
  using iterator = DeviceViewIterator<T, rank_>;     ///< over the elements in C order
  static constexpr kernels::size_type rank = rank_;  ///< number of axes

  DeviceView() = default;
  /// Strides in elements.
  QUARRY_HOST_AND_DEVICE DeviceView(T* data, const kernels::index_type* extents,
                                    const kernels::index_type* strides)
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
    const kernels::index_type list[rank + 1] = {static_cast<kernels::index_type>(indices)..., 0};
    kernels::index_type offset = 0;
    for (int d = 0; d < axes; ++d) {
      QUARRY_VIEW_ASSERT(list[d] >= 0 && list[d] < extents_[d]);
      offset += list[d] * strides_[d];
    }
    return data_[offset];
  }
  /// The element at this position in C order.
  QUARRY_HOST_AND_DEVICE T& at(kernels::index_type position) const {
    kernels::index_type offset = 0;
    if constexpr (rank > 0) {
      QUARRY_VIEW_ASSERT(position >= 0 && position < size());
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
  QUARRY_HOST_AND_DEVICE kernels::index_type extent(kernels::size_type axis) const {
    return extents_[axis];
  }
  /// Of an axis, in elements.
  QUARRY_HOST_AND_DEVICE kernels::index_type stride(kernels::size_type axis) const {
    return strides_[axis];
  }
  /// Number of elements.
  QUARRY_HOST_AND_DEVICE kernels::index_type size() const {
    kernels::index_type count = 1;
    for (int d = 0; d < axes; ++d) count *= extents_[d];
    return count;
  }
  /// Whether data() is an iterator over the elements in C order, which is faster than begin().
  QUARRY_HOST_AND_DEVICE bool is_contiguous() const {
    kernels::index_type dense = 1;
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

#ifdef QUARRY_HAS_DEVICE_MDSPAN
  /// The same memory; strides have to be those of an mdspan: positive ones.
  QUARRY_HOST_AND_DEVICE auto mdspan() const {
    using Extents = cuda::std::dextents<kernels::index_type, rank>;
    using Mapping = cuda::std::layout_stride::mapping<Extents>;
    cuda::std::array<kernels::index_type, rank> extents{}, strides{};
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
  kernels::index_type extents_[rank_ + 1] = {}, strides_[rank_ + 1] = {};  // an array has one entry
};

}  // namespace quarry

}  // extern "C++"

#undef QUARRY_VIEW_ASSERT
