// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array.hpp>
#include <quarry/base/texture_options.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <gtest/gtest.h>

#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xview.hpp>
#endif

#include <complex>
#include <string>
#include <vector>

#include "array/cuda_array_elements.hpp"
#include "gate.hpp"
#include "message_of.hpp"

/// CUDA arrays from host arrays and arrays on the device: elements by their coordinates.
namespace quarry {
namespace {

using test::elements;
using test::message_of;

template <class T>
T number(std::size_t i, std::size_t j, std::size_t k) {
  return T(static_cast<float>(100 * i + 10 * j + k));
}

/// Element (i, j, k) of an array with these extents is 100 i + 10 j + k.
template <class T>
xt::xarray<T> box(std::size_t n, std::size_t m, std::size_t l) {
  xt::xarray<T> a = xt::xarray<T>::from_shape({n, m, l});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t k = 0; k < l; ++k) a(i, j, k) = number<T>(i, j, k);
    }
  }
  return a;
}

/// What tex3D(x, y, z) reads of it, for all x, y, z.
template <class T>
std::vector<T> read_in(Order order, std::size_t n, std::size_t m, std::size_t l) {
  std::vector<T> list;
  const bool is_c = order == Order::c;
  for (std::size_t z = 0; z < (is_c ? n : l); ++z) {
    for (std::size_t y = 0; y < m; ++y) {
      for (std::size_t x = 0; x < (is_c ? l : n); ++x) {
        list.push_back(is_c ? number<T>(z, y, x) : number<T>(x, y, z));
      }
    }
  }
  return list;
}

TEST(ArrayConversion, HasTheLastIndexAlongXInOrderCAndTheFirstInOrderF) {
  const auto a = box<float>(2, 3, 4);
  const xt::xarray<float, xt::layout_type::column_major> f = a;
  for (const Order order : {Order::c, Order::f}) {
    const bool is_c = order == Order::c;
    const ArrayDescriptor d{
        .width = std::size_t(is_c ? 4 : 2), .height = 3, .depth = std::size_t(is_c ? 2 : 4)};
    const auto want = read_in<float>(order, 2, 3, 4);
    const auto on_device = to_device(a);
    const auto turned = to_device(f);
    const CudaArray made[] = {np_to_array(a, order), np_to_array(f, order),
                              gpuarray_to_array(on_device, order),
                              gpuarray_to_array(turned, order)};
    for (const CudaArray& array : made) {
      EXPECT_EQ(array.descriptor(), d);
      EXPECT_EQ(array.device(), Device());
      EXPECT_EQ(elements<float>(array), want);
    }
  }
}

TEST(ArrayConversion, TakesArraysOfOneAndTwoAxes) {
  const std::vector<std::int16_t> row{1, 2, 3, 4, 5};
  for (const Order order : {Order::c, Order::f}) {
    const CudaArray array = np_to_array(row, order);
    EXPECT_EQ(array.descriptor(), (ArrayDescriptor{.width = 5, .dtype = TypeId::int16}));
    EXPECT_EQ(elements<std::int16_t>(array), row);
  }
  const xt::xtensor<std::uint8_t, 2> matrix{{1, 2, 3}, {4, 5, 6}};
  const ArrayDescriptor c{.width = 3, .height = 2, .dtype = TypeId::uint8},
      f{.width = 2, .height = 3, .dtype = TypeId::uint8};
  const std::vector<std::uint8_t> rows{1, 2, 3, 4, 5, 6}, columns{1, 4, 2, 5, 3, 6};
  EXPECT_EQ(np_to_array(matrix, Order::c).descriptor(), c);
  EXPECT_EQ(elements<std::uint8_t>(np_to_array(matrix, Order::c)), rows);
  EXPECT_EQ(np_to_array(matrix, Order::f).descriptor(), f);
  EXPECT_EQ(elements<std::uint8_t>(np_to_array(matrix, Order::f)), columns);
  EXPECT_EQ(matrix_to_array(matrix, Order::c).descriptor(), c);
  EXPECT_EQ(elements<std::uint8_t>(matrix_to_array(matrix, Order::c)), rows);
  EXPECT_EQ(elements<std::uint8_t>(matrix_to_array(matrix, Order::f)), columns);
  EXPECT_EQ(matrix_to_array(matrix, Order::c, false, Device::cpu()).device(), Device::cpu());
}

TEST(ArrayConversion, TakesStridesOfAnySign) {
  auto a = box<float>(4, 6, 4);
  const auto some = xt::view(a, xt::range(3, xt::placeholders::_, -2), xt::range(0, 6, 2));
  const auto on_device = to_device(a)(range(3, _, -2), range(0, 6, 2));
  std::vector<float> want;
  for (const int i : {3, 1}) {
    for (const int j : {0, 2, 4}) {
      for (const int k : {0, 1, 2, 3}) want.push_back(float(100 * i + 10 * j + k));
    }
  }
  EXPECT_EQ(elements<float>(np_to_array(some, Order::c)), want);
  EXPECT_EQ(elements<float>(gpuarray_to_array(on_device, Order::c)), want);
  const auto broadcast =
      broadcast_to(to_device(std::vector<float>{1, 2})(range(_), newaxis), {2, 3});
  EXPECT_EQ(elements<float>(gpuarray_to_array(broadcast, Order::c)),
            (std::vector<float>{1, 1, 1, 2, 2, 2}));
}

TEST(ArrayConversion, MakesChannelsOfWideElements) {
  const auto check = [](auto zero, const TextureFormat& format) {
    using T = decltype(zero);
    const auto a = box<T>(2, 3, 4);
    for (const Order order : {Order::c, Order::f}) {
      const CudaArray made[] = {np_to_array(a, order), gpuarray_to_array(to_device(a), order)};
      for (const CudaArray& array : made) {
        EXPECT_EQ(array.descriptor().dtype, format.dtype);
        EXPECT_EQ(array.descriptor().num_channels, format.num_channels);
        EXPECT_EQ(elements<T>(array), (read_in<T>(order, 2, 3, 4)));
      }
    }
  };
  check(double(), {TypeId::int32, 2});
  check(std::complex<float>(), {TypeId::float32, 2});
  check(std::complex<double>(), {TypeId::int32, 4});
}

TEST(ArrayConversion, MakesArraysForSurfaces) {
  const auto a = box<float>(2, 3, 4);
  const xt::xtensor<float, 2> matrix{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(np_to_array(a, Order::c, true).descriptor(),
            (ArrayDescriptor{.width = 4, .height = 3, .depth = 2, .surface_load_store = true}));
  const ArrayDescriptor layer{
      .width = 3, .height = 2, .depth = 1, .layered = true, .surface_load_store = true};
  EXPECT_EQ(np_to_array(matrix, Order::c, true).descriptor(), layer);
  const CudaArray made = gpuarray_to_array(to_device(matrix), Order::c, true);
  EXPECT_EQ(made.descriptor(), layer);
  EXPECT_EQ(elements<float>(made), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(ArrayConversion, MakesChannelsOfAnAxis) {
  const auto a = box<float>(2, 3, 4);
  const CudaArray c = make_multichannel_2d_array(a, Order::c);
  EXPECT_EQ(c.descriptor(), (ArrayDescriptor{.width = 3, .height = 2, .num_channels = 4}));
  EXPECT_EQ(elements<float>(c), (read_in<float>(Order::c, 2, 3, 4)));
  const auto b = box<std::uint8_t>(2, 3, 2);
  const CudaArray f = make_multichannel_2d_array(b, Order::f);
  EXPECT_EQ(f.descriptor(),
            (ArrayDescriptor{.width = 3, .height = 2, .dtype = TypeId::uint8, .num_channels = 2}));
  EXPECT_EQ(elements<std::uint8_t>(f), (read_in<std::uint8_t>(Order::f, 2, 3, 2)));
  EXPECT_NE(message_of<LogicError>([] {
              make_multichannel_2d_array(box<float>(2, 3, 3), Order::c);
            }).find("1, 2 or 4 channels"),
            std::string::npos);
  EXPECT_THROW(make_multichannel_2d_array(box<double>(2, 3, 2), Order::c), LogicError);
}

TEST(ArrayConversion, ReadsTheArrayInTheOrderOfItsStream) {
  const Stream in = stream({.non_blocking = true});
  const auto a = zeros<float>({64}, {.stream = in});
  const auto every_second = a(range(_, _, 2));
  in.synchronize();
  auto gate = std::make_shared<test::Gate>(in);
  const StreamGuard guard(in);
  a.fill(7);
  gate.reset();
  EXPECT_EQ(elements<float>(gpuarray_to_array(a, Order::c)), std::vector<float>(64, 7));
  EXPECT_EQ(elements<float>(gpuarray_to_array(every_second, Order::f)), std::vector<float>(32, 7));
}

TEST(ArrayConversion, RefusesWhatCudaArraysCannotHave) {
  const xt::xtensor<double, 2> doubles{{1, 2, 3}};
  const xt::xtensor<std::complex<float>, 2> numbers{{1, 2, 3}};
  EXPECT_EQ(message_of<DTypeError>([&] { matrix_to_array(doubles, Order::c); }),
            "matrix_to_array: a CUDA array has no elements of float64: allow_double_hack makes it "
            "two channels of int32");
  const CudaArray array = matrix_to_array(doubles, Order::c, true);
  EXPECT_EQ(array.descriptor().num_channels, 2U);
  EXPECT_EQ(elements<double>(array), (std::vector<double>{1, 2, 3}));
  EXPECT_THROW(matrix_to_array(numbers, Order::c, true), DTypeError);
  EXPECT_THROW(np_to_array(std::vector<std::int64_t>{1}, Order::c), DTypeError);
  EXPECT_THROW(gpuarray_to_array(zeros<bool>({2}), Order::c), DTypeError);

  EXPECT_EQ(message_of<ShapeError>([] { matrix_to_array(std::vector<float>(4), Order::c); }),
            "matrix_to_array: an array of shape (4,); it must have 2 axes");
  EXPECT_EQ(message_of<ShapeError>([] { gpuarray_to_array(zeros<float>({}), Order::c); }),
            "gpuarray_to_array: an array of shape (); it must have 1 to 3 axes");
  EXPECT_THROW(gpuarray_to_array(zeros<float>({1, 1, 1, 1}), Order::c), ShapeError);
  EXPECT_THROW(make_multichannel_2d_array(doubles, Order::c), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([] {
              gpuarray_to_array(zeros<float>({2, 0}), Order::c);
            }),
            "gpuarray_to_array: an array of shape (2, 0) has no elements");
  EXPECT_EQ(message_of<LogicError>([&] { np_to_array(numbers, Order::a); }),
            "np_to_array: the order is c or f, not a");
}

}  // namespace
}  // namespace quarry
