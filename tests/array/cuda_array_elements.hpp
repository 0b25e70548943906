// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace quarry::test {

inline void move_all(Memcpy3D& copy, const ArrayDescriptor& d) {
  copy.width_in_bytes = d.row_bytes(), copy.height = d.rows(), copy.depth = d.planes();
  copy();
}

/// A CUDA array with these elements, x fastest.
template <class T>
CudaArray filled(const ArrayDescriptor& d, const std::vector<T>& elements) {
  EXPECT_EQ(d.bytes(), elements.size() * sizeof(T));
  CudaArray array(d);
  Memcpy3D copy;
  copy.set_src_host(elements);
  copy.set_dst_array(array);
  move_all(copy, d);
  return array;
}

/// The elements at (x, y, z), x fastest.
template <class T>
std::vector<T> elements(const CudaArray& array) {
  const ArrayDescriptor& d = array.descriptor();
  std::vector<T> list(d.bytes() / sizeof(T));
  Memcpy3D copy;
  copy.set_src_array(array);
  copy.set_dst_host(list);
  move_all(copy, d);
  return list;
}

}  // namespace quarry::test
