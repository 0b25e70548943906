// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array_interface.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"

namespace quarry {
namespace {

using test::values;

class CudaArrayInterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "an interface of GPUs";
  }
};

TEST(CudaArrayInterfaceOfTheCpu, IsRefused) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP();
  EXPECT_THROW(cuda_array_interface(zeros<float>({2})), LogicError);
}

TEST_F(CudaArrayInterfaceTest, SaysWhatTheArrayIs) {
  const auto array = zeros<float>({10});
  const CudaArrayInterface dense = cuda_array_interface(array);
  EXPECT_EQ(dense.shape, Shape{10});
  EXPECT_EQ(dense.typestr, "<f4");
  EXPECT_EQ(dense.data, reinterpret_cast<std::uintptr_t>(array.device_pointer()));
  EXPECT_FALSE(dense.is_read_only);
  EXPECT_FALSE(dense.strides);
  EXPECT_EQ(dense.version, 3);
  EXPECT_TRUE(dense.stream && *dense.stream != 0);
  const CudaArrayInterface every_second = cuda_array_interface(array(range(_, _, -2)));
  EXPECT_EQ(every_second.strides, Strides{-8});
  EXPECT_EQ(cuda_array_interface(zeros<bool>({2})).typestr, "|b1");
  EXPECT_EQ(cuda_array_interface(zeros<float>({0, 2})).data, 0u);
  EXPECT_TRUE(cuda_array_interface(array.broadcast_to({2, 10})).is_read_only);
  EXPECT_THROW(cuda_array_interface(zeros<Eigen::bfloat16>({2})), DTypeError);
}

TEST_F(CudaArrayInterfaceTest, IsTheSameMemoryAgain) {
  const auto in = stream();
  const auto array = arange<float>(0.f, 12.f, 1.f, {.stream = in}).reshape({3, 4});
  const auto part = array(range(_, _, -1), range(1, _, 2));
  const DeviceNDArray<float> again =
      from_cuda_array_interface(cuda_array_interface(part), part.buffer());
  EXPECT_EQ(again.device_pointer(), part.device_pointer());
  EXPECT_EQ(values(again), values(part));
  again += 1.f;
  EXPECT_EQ(values(array)[1], 2);
}

TEST_F(CudaArrayInterfaceTest, WithoutStridesIsInCOrder) {
  const auto array = arange<float>(24).reshape({2, 3, 4});
  CudaArrayInterface described = cuda_array_interface(array);
  EXPECT_FALSE(described.strides);
  const DeviceNDArray<float> without = from_cuda_array_interface(described, array.buffer());
  described.strides = Strides{48, 16, 4};
  const DeviceNDArray<float> with = from_cuda_array_interface(described, array.buffer());
  EXPECT_EQ(without.strides(), with.strides());
  EXPECT_EQ(values(without), values(with));
  const CudaArrayInterface part = cuda_array_interface(array(range(_), 1));
  EXPECT_EQ(part.strides, (Strides{48, 4}));
}

TEST_F(CudaArrayInterfaceTest, IsReadBehindTheWorkOfItsStream) {
  const Stream theirs = stream({.non_blocking = true}), ours = stream({.non_blocking = true});
  const auto array = zeros<float>({1000});
  synchronize();
  CudaArrayInterface described = cuda_array_interface(array);
  described.stream = theirs.handle();
  std::optional<DeviceNDArray<float>> again;
  {
    test::Gate gate(theirs);
    memset_d32_async(array, 0x3f800000, 1000, theirs);  // ones
    again.emplace(from_cuda_array_interface(described, array.buffer(), ours));
    EXPECT_EQ(again->stream(), ours);
    EXPECT_FALSE(ours.is_done());
  }
  EXPECT_EQ(sum(*again).item(), 1000);
  theirs.synchronize();
}

TEST_F(CudaArrayInterfaceTest, TheOwnerIsReleasedWhenNoArrayUsesTheMemory) {
  auto array = arange<float>(3);
  const std::weak_ptr<Buffer> memory = array.buffer();
  {
    const DeviceNDArray<float> again =
        from_cuda_array_interface(cuda_array_interface(array), array.buffer());
    array = DeviceNDArray<float>();
    EXPECT_EQ(values(again), (std::vector<float>{0, 1, 2}));
  }
  get_current_device().synchronize();
  EXPECT_EQ(values(zeros<float>({1})).size(), 1u);  // a call of the library
  EXPECT_TRUE(memory.expired());
}

TEST_F(CudaArrayInterfaceTest, LiesAreTypedErrors) {
  const auto array = arange<float>(6);
  const CudaArrayInterface right = cuda_array_interface(array);
  const auto with = [&](auto change) {
    CudaArrayInterface wrong = right;
    change(wrong);
    from_cuda_array_interface(wrong, array.buffer());
  };
  EXPECT_THROW(with([](auto& i) { i.typestr = "<f3"; }), DTypeError);
  EXPECT_THROW(with([](auto& i) { i.typestr = ">f4"; }), DTypeError);
  EXPECT_THROW(with([](auto& i) { i.typestr = ""; }), DTypeError);
  EXPECT_THROW(with([](auto& i) { i.version = 1; }), LogicError);
  EXPECT_THROW(with([](auto& i) { i.stream = 0; }), LogicError);
  EXPECT_THROW(with([](auto& i) { i.data = 0; }), LogicError);
  EXPECT_THROW(with([](auto& i) { i.shape = Shape{-1}; }), ShapeError);
  EXPECT_THROW(with([](auto& i) { i.strides = Strides{4, 4}; }), ShapeError);
  EXPECT_THROW(with([](auto& i) { i.strides = Strides{INT64_MAX / 2}; }), SizeOverflow);
  EXPECT_THROW(from_cuda_array_interface(right, nullptr), LogicError);
  std::vector<float> on_the_host(6);
  EXPECT_THROW(
      with([&](auto& i) { i.data = reinterpret_cast<std::uintptr_t>(on_the_host.data()); }),
      LogicError);
}

}  // namespace
}  // namespace quarry
