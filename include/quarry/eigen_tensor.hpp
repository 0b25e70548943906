// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/host_visible.hpp>

#include <concepts>

#include <unsupported/Eigen/CXX11/Tensor>

/// Copies from and to Eigen's tensors, row- and column-major: Tensor, TensorFixedSize and TensorMap
/// are read and written where they lie, expressions are evaluated first.
/// `a.copy_to_host<Eigen::Tensor<float, 3>>()` makes one. Arrays in host memory are seen by Eigen
/// through eigen_tensor_map.
namespace quarry {

namespace detail {

template <class E>
concept EigenTensor = std::derived_from<E, Eigen::TensorBase<E, Eigen::ReadOnlyAccessors>>;

/// Whether its elements lie in memory.
template <class E>
inline constexpr bool is_tensor_memory = false;
template <class T, int rank, int options, class I>
inline constexpr bool is_tensor_memory<Eigen::Tensor<T, rank, options, I>> = true;
template <class T, class Extents, int options, class I>
inline constexpr bool is_tensor_memory<Eigen::TensorFixedSize<T, Extents, options, I>> = true;
template <class M, int options, template <class> class Pointer>
inline constexpr bool is_tensor_memory<Eigen::TensorMap<M, options, Pointer>> = true;

template <class E>
inline constexpr int tensor_rank = Eigen::internal::traits<E>::NumDimensions;
template <class E>
inline constexpr int tensor_order = Eigen::internal::traits<E>::Layout;
/// What an expression evaluates to.
template <class E>
using TensorOf = Eigen::Tensor<std::remove_const_t<typename Eigen::internal::traits<E>::Scalar>,
                               tensor_rank<E>, tensor_order<E>>;

template <class E>
Shape tensor_shape(const E& e) {
  const Eigen::DSizes<Eigen::Index, tensor_rank<E>> extents(e.dimensions());
  return Shape(extents.begin(), extents.end());
}

/// Throws ShapeError for another number of axes, LogicError for gaps or another order, which a map
/// has not.
template <class M, class T>
Eigen::TensorMap<M> tensor_map_of(T* data, const Layout& layout) {
  require_rank(layout.shape, tensor_rank<M>);
  constexpr bool is_c = tensor_order<M> == int{Eigen::RowMajor};
  require<LogicError>(
      is_c ? is_c_contiguous(layout, sizeof(T)) : is_f_contiguous(layout, sizeof(T)), [&] {
        return "eigen_tensor_map: an array of shape " + to_string(layout.shape) + " and strides " +
               to_string(layout.strides) + " is not contiguous in " +
               (is_c ? "C order" : "F order: Eigen::ColMajor");
      });
  return {data, extents_for<typename M::Dimensions>(layout.shape)};
}
template <class T, std::size_t rank, int order>
using TensorLike = std::conditional_t<std::is_const_v<T>,
                                      const Eigen::Tensor<std::remove_const_t<T>, int{rank}, order>,
                                      Eigen::Tensor<std::remove_const_t<T>, int{rank}, order>>;

}  // namespace detail

/// Where Eigen's tensors and maps of them lie.
template <detail::EigenTensor E>
requires detail::is_tensor_memory<E>
struct HostLayoutOf<E> {
  /// Strides in bytes.
  static Layout make(const E& e) {
    const Shape shape = detail::tensor_shape(e);
    constexpr bool is_c = detail::tensor_order<E> == int{Eigen::RowMajor};
    return {shape, dense_strides(shape, sizeof(typename E::Scalar), is_c ? Order::c : Order::f)};
  }
};

/// Eigen's other expressions of tensors are evaluated on the host.
template <detail::EigenTensor E>
requires(!detail::is_tensor_memory<E>) struct HostValuesOf<E> {
  /// The values.
  static detail::TensorOf<E> make(const E& e) { return e; }
};

/// Tensor and TensorFixedSize. Throws ShapeError for another number of axes than the type has, and
/// for other extents than it fixes.
template <detail::EigenTensor H>
requires detail::is_tensor_memory<H>
struct HostArrayMaker<H> {
  static constexpr std::size_t rank = detail::tensor_rank<H>;  ///< by its type
  /// Uninitialised.
  static H make(const Shape& shape) {
    H host;
    if constexpr (requires(typename H::Dimensions & extents) { extents[0] = 1; }) {
      host.resize(detail::extents_for<typename H::Dimensions>(shape));
    } else {
      detail::require_shape(shape, detail::tensor_shape(host));
    }
    return host;
  }
};

///@{
/// The elements of an array on the CPU device, or of a mapped or managed array, as an
/// Eigen::TensorMap of `rank` axes, row-major unless it is eigen_tensor_map<rank, Eigen::ColMajor>:
/// the same memory, no copy. The array must outlive it, and work queued on it must be done. Throws
/// LogicError for an array on a GPU, and for one that is not contiguous in that order, ShapeError
/// for another number of axes.
template <std::size_t rank, int order = Eigen::RowMajor, class T>
auto eigen_tensor_map(const DeviceNDArray<T>& array) {
  return detail::tensor_map_of<detail::TensorLike<T, rank, order>>(detail::host_elements(array),
                                                                   array.layout());
}
template <std::size_t rank, int order = Eigen::RowMajor, class T, MemorySpace where>
auto eigen_tensor_map(const HostVisibleNDArray<T, where>& array) {
  return detail::tensor_map_of<detail::TensorLike<T, rank, order>>(array.host_pointer(),
                                                                   array.layout());
}
///@}

}  // namespace quarry
