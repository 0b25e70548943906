// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/eigen.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include <Eigen/Dense>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;

/// Elements that no two types or places have in common by chance.
template <class M>
M drawn(Eigen::Index rows, Eigen::Index cols, unsigned seed) {
  std::mt19937 random(seed);
  M m(rows, cols);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < cols; ++j)
      m(i, j) = typename M::Scalar(static_cast<std::uint8_t>(random() % 100));
  return m;
}

template <class A, class B>
bool same(const A& a, const B& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && (a.array() == b.array()).all();
}

/// Element (i, j) of what has two axes, element i + j of what has one.
template <class E>
void expect_same(const DeviceNDArray<typename E::Scalar>& array, const E& e) {
  if (E::IsVectorAtCompileTime) {
    ASSERT_EQ(array.shape(), Shape{e.size()});
  } else {
    ASSERT_EQ(array.shape(), (Shape{e.rows(), e.cols()}));
  }
  const auto got = values(array);
  std::size_t at = 0;
  for (Eigen::Index i = 0; i < e.rows(); ++i)
    for (Eigen::Index j = 0; j < e.cols(); ++j) EXPECT_EQ(got[at++], e(i, j));
}

template <class M>
class EigenTypes : public testing::Test {};
using Types =
    testing::Types<Eigen::MatrixXf, Eigen::MatrixXd, Eigen::MatrixXi, Eigen::MatrixXcf,
                   Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                   Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic>,
                   Eigen::Array<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                   Eigen::Matrix<float, 5, 7>, Eigen::Matrix<float, 5, 7, Eigen::RowMajor>,
                   Eigen::Matrix<float, 5, Eigen::Dynamic>,
                   Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, 0, 8, 9>>;
TYPED_TEST_SUITE(EigenTypes, Types);

TYPED_TEST(EigenTypes, MatricesGoThereAndBack) {
  using T = typename TypeParam::Scalar;
  const auto m = drawn<TypeParam>(5, 7, 1);
  const DeviceNDArray<T> array = to_device(m);
  expect_same(array, m);
  EXPECT_EQ(array.is_c_contiguous(), bool(TypeParam::IsRowMajor));
  EXPECT_TRUE(same(array.template copy_to_host<TypeParam>(), m));
  TypeParam into(5, 7);
  array.transpose().copy().transpose().copy_to_host(into);
  EXPECT_TRUE(same(into, m));
  const auto other = zeros<T>({5, 7});
  other.copy_to_device(m);
  expect_same(other, m);
  other(all) = drawn<TypeParam>(5, 7, 2);
  expect_same(other, drawn<TypeParam>(5, 7, 2));
}

TEST(Eigen, VectorsHaveOneAxis) {
  const Eigen::VectorXf column = drawn<Eigen::VectorXf>(6, 1, 3);
  const Eigen::RowVector4d row = drawn<Eigen::RowVector4d>(1, 4, 4);
  expect_same(to_device(column), column);
  expect_same(to_device(row), row);
  EXPECT_TRUE(same(to_device(column).copy_to_host<Eigen::VectorXf>(), column));
  EXPECT_TRUE(same(to_device(row).copy_to_host<Eigen::RowVector4d>(), row));
  EXPECT_TRUE(same(to_device(row).copy_to_host<Eigen::RowVectorXd>(), row));
  EXPECT_TRUE(same(to_device(column).copy_to_host<Eigen::ArrayXd>(), column.cast<double>()));
}

TEST(Eigen, ViewsAreReadAndWrittenWhereTheyLie) {
  Eigen::MatrixXd m = drawn<Eigen::MatrixXd>(6, 8, 5);
  expect_same(to_device(m.block(1, 2, 3, 4)), Eigen::MatrixXd(m.block(1, 2, 3, 4)));
  expect_same(to_device(m.transpose()), Eigen::MatrixXd(m.transpose()));
  expect_same(to_device(m.row(2)), Eigen::RowVectorXd(m.row(2)));
  expect_same(to_device(m.col(3)), Eigen::VectorXd(m.col(3)));
  expect_same(to_device(m.diagonal()), Eigen::VectorXd(m.diagonal()));
  const Eigen::Ref<const Eigen::MatrixXd> ref = m.topRows(4);
  expect_same(to_device(ref), Eigen::MatrixXd(m.topRows(4)));
  const Eigen::Map<const Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, 2>> map(
      m.data(), 3, 4, Eigen::Stride<Eigen::Dynamic, 2>(6, 2));
  expect_same(to_device(map), Eigen::MatrixXd(map));

  Eigen::MatrixXd want = m;
  want.block(1, 2, 3, 4).setConstant(7);
  want.row(5).setConstant(8);
  full<double>({3, 4}, 7.).copy_to_host(m.block(1, 2, 3, 4));
  full<double>({8}, 8.).copy_to_host(m.row(5));
  EXPECT_EQ(m, want);
}

TEST(Eigen, ExpressionsAreEvaluated) {
  const Eigen::MatrixXd a = drawn<Eigen::MatrixXd>(4, 5, 6), b = drawn<Eigen::MatrixXd>(5, 3, 7);
  expect_same(to_device(a * b), Eigen::MatrixXd(a * b));
  expect_same(to_device(a.array().square() + 1), Eigen::ArrayXXd(a.array().square() + 1));
  expect_same(to_device(a.cast<float>()), Eigen::MatrixXf(a.cast<float>()));
  expect_same(to_device(a.rowwise().sum()), Eigen::VectorXd(a.rowwise().sum()));
  const auto array = zeros<double>({4, 3});
  array(all) = a * b;
  expect_same(array, Eigen::MatrixXd(a * b));
}

TEST(Eigen, WrongShapesAreShapeErrors) {
  const auto array = zeros<double>({3, 4});
  EXPECT_THROW(array.copy_to_host<Eigen::VectorXd>(), ShapeError);
  EXPECT_THROW(array.copy_to_host<Eigen::Matrix3d>(), ShapeError);
  EXPECT_THROW(
      (array.copy_to_host<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 2, 9>>()),
      ShapeError);
  EXPECT_THROW(array(0).copy_to_host<Eigen::MatrixXd>(), ShapeError);
  EXPECT_THROW(array(0, 0).copy_to_host<Eigen::VectorXd>(), ShapeError);
  Eigen::MatrixXd m(4, 3);
  EXPECT_THROW(array.copy_to_host(m), ShapeError);
  EXPECT_THROW(array.copy_to_device(m), ShapeError);
  const auto none = zeros<double>({0, 4}).copy_to_host<Eigen::MatrixXd>();
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.cols(), 4);
}

TEST(Eigen, MapsSeeTheSameMemory) {
  const auto mapped = mapped_array<float>({4, 6});
  mapped.fill(0);
  mapped.stream().synchronize();
  auto map = eigen_map(mapped);
  map(1, 2) = 5;
  EXPECT_EQ(mapped(1, 2).item(), 5);
  const auto part = eigen_map(mapped.transpose()(range(_, _, 2), range(1, 3)));
  EXPECT_EQ(part.rows(), 3);
  EXPECT_EQ(part(1, 0), 5);
  eigen_vector_map(mapped(1)).setConstant(3);
  EXPECT_EQ(sum(mapped).item(), 18);
  EXPECT_THROW(eigen_map(mapped(0)), ShapeError);
  EXPECT_THROW(eigen_vector_map(mapped), ShapeError);
  EXPECT_THROW(eigen_map(mapped(range(_, _, -1))), LogicError);
  const MappedNDArray<const float> fixed = mapped;
  static_assert(std::is_const_v<std::remove_pointer_t<decltype(eigen_map(fixed).data())>>);
  if (test::kind() == test::Kind::cpu) {
    const auto array = arange<double>(6).reshape({2, 3});
    EXPECT_EQ(eigen_map(array)(1, 1), 4);
  } else {
    EXPECT_THROW(eigen_map(zeros<double>({2, 2})), LogicError);
  }
}

}  // namespace
}  // namespace quarry
