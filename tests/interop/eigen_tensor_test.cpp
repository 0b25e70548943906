// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/eigen_tensor.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;

/// Elements that no two places have in common by chance.
template <class E>
E drawn(E e, unsigned seed) {
  std::mt19937 random(seed);
  for (Eigen::Index i = 0; i < e.size(); ++i)
    e.data()[i] = typename E::Scalar(static_cast<std::uint8_t>(random() % 100));
  return e;
}

/// Element (i, j, k) of both.
template <class T, class E>
void expect_same(const DeviceNDArray<T>& array, const E& e) {
  ASSERT_EQ(array.shape(), (Shape{e.dimension(0), e.dimension(1), e.dimension(2)}));
  using I = typename E::Index;
  const auto got = values(array);
  std::size_t at = 0;
  for (I i = 0; i < e.dimension(0); ++i)
    for (I j = 0; j < e.dimension(1); ++j)
      for (I k = 0; k < e.dimension(2); ++k) EXPECT_EQ(got[at++], e(i, j, k));
}

template <class E>
class EigenTensors : public testing::Test {};
using Types = testing::Types<Eigen::Tensor<float, 3>, Eigen::Tensor<double, 3, Eigen::RowMajor>,
                             Eigen::Tensor<std::complex<float>, 3>,
                             Eigen::Tensor<std::uint8_t, 3, Eigen::RowMajor>,
                             Eigen::Tensor<std::int64_t, 3, Eigen::ColMajor, int>,
                             Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3, 4>>,
                             Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3, 4>, Eigen::RowMajor>>;
TYPED_TEST_SUITE(EigenTensors, Types);

TYPED_TEST(EigenTensors, GoThereAndBack) {
  using T = typename TypeParam::Scalar;
  const TypeParam e = drawn(zeros<T>({2, 3, 4}).template copy_to_host<TypeParam>(), 1);
  const DeviceNDArray<T> array = to_device(e);
  expect_same(array, e);
  EXPECT_EQ(array.is_c_contiguous(), int{TypeParam::Layout} == int{Eigen::RowMajor});
  expect_same(array, array.template copy_to_host<TypeParam>());
  TypeParam into = e;
  const auto twice = eval(array + array).transpose().copy().transpose();
  twice.copy_to_host(into);
  expect_same(twice, into);
  const auto other = zeros<T>({2, 3, 4});
  other.copy_to_device(e);
  expect_same(other, e);
  other(all) = into;
  expect_same(other, into);
}

TEST(EigenTensor, MapsAndExpressionsAreRead) {
  using Rows = Eigen::Tensor<float, 3, Eigen::RowMajor>;
  Rows e = drawn(Rows(2, 3, 4), 2);
  const Eigen::TensorMap<const Rows> map(e.data(), 2, 3, 4);
  expect_same(to_device(map), e);
  Eigen::TensorMap<Eigen::Tensor<float, 3>> turned(e.data(), 4, 3, 2);
  expect_same(to_device(turned), Eigen::Tensor<float, 3>(turned));
  full<float>({4, 3, 2}, 7.f).copy_to_host(turned);
  EXPECT_EQ(e(1, 2, 3), 7);

  e = drawn(Rows(2, 3, 4), 3);
  const Rows sum = e + e * e.constant(2);
  expect_same(to_device(e + e * e.constant(2)), sum);
  const Eigen::array<Eigen::Index, 3> from{0, 1, 1}, extents{2, 2, 2}, order{2, 0, 1};
  expect_same(to_device(e.slice(from, extents)), Rows(e.slice(from, extents)));
  expect_same(to_device(e.shuffle(order)), Rows(e.shuffle(order)));
  const auto array = zeros<float>({2, 3, 4});
  array(all) = e + e * e.constant(2);
  expect_same(array, sum);
  array.copy_to_device(e - sum);
  expect_same(array, Rows(e - sum));
  const Eigen::Tensor<float, 0, Eigen::RowMajor> total = e.sum();
  EXPECT_EQ(to_device(e.sum()).shape(), Shape{});
  EXPECT_EQ(to_device(e.sum()).item(), total());
}

TEST(EigenTensor, WrongShapesAreShapeErrors) {
  const auto array = zeros<double>({2, 3, 4});
  EXPECT_THROW((array.copy_to_host<Eigen::Tensor<double, 2>>()), ShapeError);
  EXPECT_THROW((array.copy_to_host<Eigen::Tensor<double, 4>>()), ShapeError);
  EXPECT_THROW((array.copy_to_host<Eigen::TensorFixedSize<double, Eigen::Sizes<2, 3, 5>>>()),
               ShapeError);
  Eigen::Tensor<double, 3> other(4, 3, 2);
  EXPECT_THROW(array.copy_to_host(other), ShapeError);
  EXPECT_THROW(array.copy_to_device(other), ShapeError);
  const auto none = zeros<double>({0, 3}).copy_to_host<Eigen::Tensor<double, 2>>();
  EXPECT_EQ(none.dimension(0), 0);
  EXPECT_EQ(none.dimension(1), 3);
}

TEST(EigenTensor, MapsSeeTheSameMemory) {
  const auto mapped = mapped_array<float>({2, 3, 4});
  mapped.fill(0);
  mapped.stream().synchronize();
  auto map = eigen_tensor_map<3>(mapped);
  map(1, 2, 3) = 5;
  EXPECT_EQ(mapped(1, 2, 3).item(), 5);
  const auto turned = eigen_tensor_map<3, Eigen::ColMajor>(mapped.transpose());
  EXPECT_EQ(turned(3, 2, 1), 5);
  EXPECT_EQ(eigen_tensor_map<2>(mapped(1))(2, 3), 5);
  EXPECT_THROW(eigen_tensor_map<2>(mapped), ShapeError);
  EXPECT_THROW(eigen_tensor_map<3>(mapped.transpose()), LogicError);
  EXPECT_THROW((eigen_tensor_map<3, Eigen::ColMajor>(mapped)), LogicError);
  EXPECT_THROW(eigen_tensor_map<3>(mapped(all, all, range(2))), LogicError);

  const auto array = full<float>({2, 2}, 3.f);
  array.stream().synchronize();
  if (array.device().is_cpu()) {
    EXPECT_EQ(eigen_tensor_map<2>(array)(1, 1), 3);
    const DeviceNDArray<const float> constant = array;
    static_assert(
        std::is_const_v<std::remove_pointer_t<decltype(eigen_tensor_map<2>(constant).data())>>);
  } else {
    EXPECT_THROW(eigen_tensor_map<2>(array), LogicError);
  }
}

}  // namespace
}  // namespace quarry
