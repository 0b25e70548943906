// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/host_visible.hpp>

#include <Eigen/Core>

#include <concepts>
#include <cstddef>

/// Copies from and to Eigen's dense matrices and arrays, row- and column-major: Matrix, Array, Map,
/// Ref, Block and the like are read and written where they lie, expressions are evaluated first.
/// Vectors (by their type) have one axis, everything else has two.
/// `a.copy_to_host<Eigen::MatrixXf>()` makes one. Arrays in host memory are seen by Eigen through
/// eigen_map.
namespace quarry {

namespace detail {

template <class E>
concept EigenDense = std::derived_from<E, Eigen::DenseBase<E>>;
/// Whether its elements lie in memory.
template <class E>
concept EigenMemory = EigenDense<E> &&(int{E::Flags} & int{Eigen::DirectAccessBit}) != 0;

/// The strides of a map. Throws LogicError for negative strides, which Eigen has not, and
/// ShapeError for another number of axes.
Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic> inline eigen_strides(const Layout& layout,
                                                                   std::size_t itemsize,
                                                                   std::size_t rank) {
  require_rank(layout.shape, rank);
  const auto unit = std::int64_t(itemsize);
  std::int64_t strides[2] = {1, 1};
  for (std::size_t d = 0; d < rank; ++d) {
    if (layout.shape[d] <= 1) continue;
    strides[d] = layout.strides[d] / unit;
    require<LogicError>(layout.strides[d] >= 0 && layout.strides[d] % unit == 0, [&] {
      return "eigen_map: strides " + to_string(layout.strides) + " for elements of " +
             std::to_string(itemsize) + " bytes are no strides of Eigen: copy() is dense";
    });
  }
  return {strides[1], strides[0]};
}

template <class M, class T>
Eigen::Map<M, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> eigen_map_of(T* data,
                                                                             const Layout& layout) {
  constexpr std::size_t rank = M::IsVectorAtCompileTime ? 1 : 2;
  const auto strides = eigen_strides(layout, sizeof(T), rank);
  const auto rows = Eigen::Index(layout.shape[0]);
  return {data, rows, rank == 1 ? 1 : Eigen::Index(layout.shape[rank - 1]), strides};
}

template <class T, template <class> class Like>
using EigenOf = std::conditional_t<std::is_const_v<T>, const Like<std::remove_const_t<T>>, Like<T>>;
template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using EigenVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

}  // namespace detail

/// Where Eigen's matrices and views lie.
template <detail::EigenMemory E>
struct HostLayoutOf<E> {
  /// Strides in bytes.
  static Layout make(const E& e) {
    constexpr auto unit = std::int64_t(sizeof(typename E::Scalar));
    if constexpr (E::IsVectorAtCompileTime) {
      return {Shape{e.size()}, Strides{e.innerStride() * unit}};
    } else if constexpr (E::IsRowMajor) {
      return {Shape{e.rows(), e.cols()}, Strides{e.outerStride() * unit, e.innerStride() * unit}};
    } else {
      return {Shape{e.rows(), e.cols()}, Strides{e.innerStride() * unit, e.outerStride() * unit}};
    }
  }
};

/// Eigen's other expressions are evaluated on the host.
template <detail::EigenDense E>
requires(!detail::EigenMemory<E>) struct HostValuesOf<E> {
  /// The values.
  static typename E::PlainObject make(const E& e) { return e.eval(); }
};

/// Matrix and Array. Throws ShapeError for another number of axes than the type has, and for an
/// extent that it fixes otherwise.
template <class H>
requires std::derived_from<H, Eigen::PlainObjectBase<H>>
struct HostArrayMaker<H> {
  static constexpr std::size_t rank = H::IsVectorAtCompileTime ? 1 : 2;  ///< by its type
  /// Uninitialised.
  static H make(const Shape& shape) {
    constexpr bool is_vector = H::IsVectorAtCompileTime;
    detail::require_rank(shape, rank);
    constexpr bool is_row = is_vector && H::RowsAtCompileTime == 1;
    const Eigen::Index rows = is_row ? 1 : Eigen::Index(shape[0]);
    const Eigen::Index cols = is_row      ? Eigen::Index(shape[0])
                              : is_vector ? 1
                                          : Eigen::Index(shape[1]);
    const auto fits = [](Eigen::Index extent, int fixed, int most) {
      return (fixed == Eigen::Dynamic || fixed == extent) &&
             (most == Eigen::Dynamic || extent <= most);
    };
    require<ShapeError>(fits(rows, H::RowsAtCompileTime, H::MaxRowsAtCompileTime) &&
                            fits(cols, H::ColsAtCompileTime, H::MaxColsAtCompileTime),
                        [&] {
                          return "an array of shape " + to_string(shape) +
                                 " for an Eigen type of other extents";
                        });
    H host;
    host.resize(rows, cols);
    return host;
  }
};

///@{
/// The elements of an array on the CPU device, or of a mapped or managed array, as an Eigen::Map:
/// the same memory, no copy, of any layout without negative strides. eigen_map is a matrix of two
/// axes, eigen_vector_map a vector of one. The array must outlive it, and work queued on it must be
/// done. Throws LogicError for an array on a GPU and for strides that Eigen has not, ShapeError for
/// another number of axes.
template <class T>
auto eigen_map(const DeviceNDArray<T>& array) {
  return detail::eigen_map_of<detail::EigenOf<T, detail::EigenMatrix>>(detail::host_elements(array),
                                                                       array.layout());
}
template <class T, MemorySpace where>
auto eigen_map(const HostVisibleNDArray<T, where>& array) {
  return detail::eigen_map_of<detail::EigenOf<T, detail::EigenMatrix>>(array.host_pointer(),
                                                                       array.layout());
}
template <class T>
auto eigen_vector_map(const DeviceNDArray<T>& array) {
  return detail::eigen_map_of<detail::EigenOf<T, detail::EigenVector>>(detail::host_elements(array),
                                                                       array.layout());
}
template <class T, MemorySpace where>
auto eigen_vector_map(const HostVisibleNDArray<T, where>& array) {
  return detail::eigen_map_of<detail::EigenOf<T, detail::EigenVector>>(array.host_pointer(),
                                                                       array.layout());
}
///@}

}  // namespace quarry
