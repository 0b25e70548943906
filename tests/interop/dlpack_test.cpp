// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/dlpack.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Core>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

// Arrays that go out and come in by DLPack, and tensors that lie.
namespace quarry {
namespace {

using test::values;

struct Record {
  float x;
};

/// A producer's tensor over the memory of an array, which counts the calls of its deleter.
template <class Tensor>
struct Producer {
  explicit Producer(const DeviceNDArray<float>& of) : array(of) {
    for (std::size_t d = 0; d < of.ndim(); ++d) {
      shape.push_back(of.shape()[d]);
      strides.push_back(of.strides()[d] / 4);
    }
    const DLDeviceType type = of.device().is_cpu() ? kDLCPU : kDLCUDA;
    tensor.dl_tensor = {
        of.device_pointer(), {type, 0}, int(of.ndim()), {kDLFloat, 32, 1}, shape.data(),
        strides.data(),      0};
    tensor.manager_ctx = this;
    tensor.deleter = [](Tensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    if constexpr (requires { tensor.version; }) tensor.version = {1, 0};
  }
  DeviceNDArray<float> array;
  std::vector<std::int64_t> shape, strides;
  Tensor tensor{};
  int deleted = 0;
};
using Versioned = Producer<DLManagedTensorVersioned>;

/// A view of a drawn array: ranges, reversed and transposed axes, single elements.
DeviceNDArray<float> drawn_view(std::mt19937_64& random) {
  Shape shape;
  for (std::uint64_t d = random() % 5; d > 0; --d) shape.push_back(std::int64_t(random() % 6));
  auto array = arange<float>(float(element_count(shape))).reshape(shape);
  std::vector<Index> entries;
  for (const std::int64_t extent : shape) {
    if (extent > 0 && random() % 6 == 0) {
      entries.emplace_back(random() % std::uint64_t(extent));
    } else {
      const int step = int(random() % 3) + 1;
      entries.emplace_back(range(_, _, random() % 2 ? step : -step));
    }
  }
  array = array(entries);
  return random() % 2 ? array.transpose() : array;
}

TEST(Dlpack, WhatGoesOutComesBackTheSameMemory) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    const auto array = drawn_view(random);
    const DeviceNDArray<float> back = from_dlpack(to_dlpack(array));
    ASSERT_EQ(back.shape(), array.shape());
    ASSERT_EQ(values(back), values(array));
    if (array.empty()) continue;
    EXPECT_EQ(back.device_pointer(), array.device_pointer());
    back.fill(5);
    EXPECT_EQ(values(array), std::vector<float>(std::size_t(array.size()), 5.f));
  }
}

template <class T>
class DlpackTypes : public testing::Test {};
using Types =
    testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, Eigen::half, Eigen::bfloat16, float,
                   double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DlpackTypes, Types);

TYPED_TEST(DlpackTypes, TypesComeBack) {
  const auto array = zeros<TypeParam>({2, 3});
  auto tensor = to_dlpack(array);
  EXPECT_EQ(tensor->dl_tensor.dtype.bits, sizeof(TypeParam) * 8);
  EXPECT_EQ(tensor->dl_tensor.dtype.lanes, 1);
  EXPECT_EQ(tensor->version.major, 1u);
  const UntypedNDArray back = from_dlpack(std::move(tensor));
  EXPECT_EQ(back.dtype(), array.dtype());
  const DeviceNDArray<TypeParam> again = from_dlpack(to_dlpack_unversioned(array));
  EXPECT_EQ(again.device_pointer(), array.device_pointer());
}

TEST(Dlpack, MemoryLivesUntilTheDeleterIsCalled) {
  auto array = arange<float>(6);
  const std::weak_ptr<Buffer> memory = array.buffer();
  auto tensor = to_dlpack(array(range(1, 4)));
  array = DeviceNDArray<float>();
  ASSERT_FALSE(memory.expired());
  EXPECT_EQ(tensor->dl_tensor.shape[0], 3);
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 0u);
  DLManagedTensorVersioned* const handed_over = tensor.release();
  std::thread([&] { handed_over->deleter(handed_over); }).join();
  EXPECT_TRUE(memory.expired());
}

TEST(Dlpack, ReadOnlyArraysSayIt) {
  const DeviceNDArray<const float> fixed = arange<float>(3);
  EXPECT_NE(to_dlpack(fixed)->flags & DLPACK_FLAG_BITMASK_READ_ONLY, 0u);
  EXPECT_EQ(to_dlpack(arange<float>(3))->flags, 0u);
  EXPECT_THROW(to_dlpack_unversioned(fixed), LogicError);
  EXPECT_THROW(DeviceNDArray<float>(from_dlpack(to_dlpack(fixed))), LogicError);
  const DeviceNDArray<const float> again = from_dlpack(to_dlpack(fixed));
  EXPECT_EQ(values(again), (std::vector<float>{0, 1, 2}));
}

TEST(Dlpack, WhatTheProtocolCannotSayIsRefused) {
  EXPECT_THROW(to_dlpack(DeviceNDArray<Record>(Shape{2})), DTypeError);
  DeviceNDArray<float> gone = zeros<float>({2});
  const auto kept = std::move(gone);
  EXPECT_THROW(to_dlpack(gone), LogicError);
  struct __attribute__((packed)) Odd {
    char tag;
    float x;
  };
  EXPECT_THROW(to_dlpack(DeviceNDArray<Odd>(Shape{3}).field<&Odd::x>()), LogicError);
}

TEST(Dlpack, TheDeleterIsCalledOnceWhenNoArrayUsesTheMemory) {
  Versioned producer(arange<float>(6).reshape({2, 3}));
  {
    DeviceNDArray<float> array = from_dlpack(&producer.tensor);
    auto row = array(1);
    array = DeviceNDArray<float>();
    EXPECT_EQ(values(row), (std::vector<float>{3, 4, 5}));
    EXPECT_EQ(producer.deleted, 0);
  }
  get_current_device().synchronize();
  const auto later = zeros<float>({1});  // a call of the library
  EXPECT_EQ(producer.deleted, 1);
  Producer<DLManagedTensor> old(arange<float>(3));
  { const DeviceNDArray<float> array = from_dlpack(&old.tensor); }
  get_current_device().synchronize();
  EXPECT_EQ(values(zeros<float>({1})).size(), 1u);
  EXPECT_EQ(old.deleted, 1);
  old.tensor.deleter = nullptr;
  const DeviceNDArray<float> kept = from_dlpack(&old.tensor);
  EXPECT_EQ(values(kept).size(), 3u);
}

TEST(Dlpack, ADeleterThatThrowsIsContained) {
  Versioned producer(arange<float>(6));
  producer.tensor.deleter = [](DLManagedTensorVersioned* self) {
    ++static_cast<Versioned*>(self->manager_ctx)->deleted;
    throw 1;
  };
  { const DeviceNDArray<float> array = from_dlpack(&producer.tensor); }
  get_current_device().synchronize();
  EXPECT_EQ(values(zeros<float>({1})).size(), 1u);
  EXPECT_EQ(producer.deleted, 1);
}

TEST(Dlpack, AnArrayWithoutStridesIsInCOrder) {
  Versioned producer(arange<float>(6).reshape({2, 3}));
  producer.tensor.dl_tensor.strides = nullptr;
  producer.tensor.dl_tensor.byte_offset = 4;
  producer.shape = {1, 3};
  producer.tensor.dl_tensor.shape = producer.shape.data();
  const DeviceNDArray<float> array = from_dlpack(&producer.tensor);
  EXPECT_EQ(values(array), (std::vector<float>{1, 2, 3}));
}

TEST(Dlpack, AnArrayWithoutElementsNeedsNoMemory) {
  Versioned producer(zeros<float>({0, 3}));
  producer.tensor.dl_tensor.data = nullptr;
  const DeviceNDArray<float> array = from_dlpack(&producer.tensor);
  EXPECT_EQ(array.shape(), (Shape{0, 3}));
  EXPECT_EQ(sum(array).item(), 0);
}

TEST(Dlpack, NewerMinorVersionsAndUnknownFlagsAreAccepted) {
  Versioned producer(arange<float>(3));
  producer.tensor.version.minor = 77;
  producer.tensor.flags = ~std::uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY};
  const DeviceNDArray<float> array = from_dlpack(&producer.tensor);
  EXPECT_EQ(values(array).size(), 3u);
}

TEST(Dlpack, NegativeAndZeroStridesAreViews) {
  const auto array = arange<float>(6).reshape({2, 3});
  const DeviceNDArray<const float> wide = from_dlpack(to_dlpack(array(0).broadcast_to({4, 3})));
  EXPECT_EQ(values(wide), (std::vector<float>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  const DeviceNDArray<float> back = from_dlpack(to_dlpack(array(range(_, _, -1), range(_, _, -2))));
  EXPECT_EQ(values(back), (std::vector<float>{5, 3, 2, 0}));
}

/// What a lie makes of a tensor.
struct Lie {
  std::string name;
  std::function<void(Versioned&)> tell;
  std::function<bool()> is_right;  ///< whether the error in flight is the one that it has to be
};
template <class E>
bool is_error() {
  try {
    throw;
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}
Lie lie(std::string name, std::function<void(DLTensor&)> tell, bool (*is_right)()) {
  return {std::move(name), [tell](Versioned& p) { tell(p.tensor.dl_tensor); }, is_right};
}

std::vector<Lie> lies() {
  static std::int64_t negative[] = {2, -3}, large[] = {INT64_MAX, 2}, far[] = {INT64_MAX / 4, 1},
                      farther[] = {INT64_MAX / 4 - 100, 1};
  static std::int64_t lowest[] = {-(std::int64_t{1} << 61), 0};  // -2^63 bytes
  const auto type = [](int code, int bits, int lanes) {
    return lie(
        "type " + std::to_string(code) + " " + std::to_string(bits) + " x" + std::to_string(lanes),
        [=](DLTensor& t) {
          t.dtype = {std::uint8_t(code), std::uint8_t(bits), std::uint16_t(lanes)};
        },
        is_error<DTypeError>);
  };
  return {
      {"version", [](Versioned& p) { p.tensor.version.major = 2; }, is_error<LogicError>},
      {"old version", [](Versioned& p) { p.tensor.version.major = 0; }, is_error<LogicError>},
      lie(
          "no extents", [](DLTensor& t) { t.shape = nullptr; }, is_error<ShapeError>),
      lie(
          "axes", [](DLTensor& t) { t.ndim = 1'000'000; }, is_error<ShapeError>),
      lie(
          "negative axes", [](DLTensor& t) { t.ndim = -1; }, is_error<ShapeError>),
      lie(
          "negative extent", [](DLTensor& t) { t.shape = negative; }, is_error<ShapeError>),
      lie(
          "size", [](DLTensor& t) { t.shape = large; }, is_error<SizeOverflow>),
      lie(
          "stride", [](DLTensor& t) { t.strides = large; }, is_error<SizeOverflow>),
      lie(
          "span", [](DLTensor& t) { t.strides = far; }, is_error<SizeOverflow>),
      lie(
          "end", [](DLTensor& t) { t.strides = farther; }, is_error<SizeOverflow>),
      lie(
          "lowest", [](DLTensor& t) { t.strides = lowest; }, is_error<SizeOverflow>),
      lie(
          "offset", [](DLTensor& t) { t.byte_offset = ~std::uint64_t{0}; }, is_error<SizeOverflow>),
      lie(
          "null", [](DLTensor& t) { t.data = nullptr; }, is_error<LogicError>),
      lie(
          "opencl", [](DLTensor& t) { t.device.device_type = kDLOpenCL; }, is_error<LogicError>),
      lie(
          "device", [](DLTensor& t) { t.device.device_type = kDLVPI; }, is_error<LogicError>),
      lie(
          "device of no header",
          [](DLTensor& t) {
            std::memset(&t.device.device_type, 0x7f, sizeof t.device.device_type);
          },
          is_error<LogicError>),
      type(kDLFloat, 32, 0),
      type(kDLFloat, 32, 2),
      type(kDLFloat, 32, 65535),
      type(kDLFloat, 8, 1),
      type(kDLFloat, 0, 1),
      type(kDLInt, 4, 1),
      type(kDLInt, 255, 1),
      type(kDLUInt, 1, 1),
      type(kDLOpaqueHandle, 32, 1),
      type(200, 32, 1),
      type(kDLBfloat, 32, 1),
      type(6, 16, 1)};
}

TEST(Dlpack, LiesAreTypedErrorsAndTheDeleterIsCalledOnce) {
  for (const Lie& lie : lies()) {
    Versioned producer(arange<float>(6).reshape({2, 3}));
    lie.tell(producer);
    try {
      const UntypedNDArray array = from_dlpack(&producer.tensor);
      ADD_FAILURE() << lie.name << " was believed: " << array.shape();
    } catch (...) {
      EXPECT_TRUE(lie.is_right()) << lie.name;
    }
    EXPECT_EQ(producer.deleted, 1) << lie.name;
  }
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensor*>(nullptr)), LogicError);
}

TEST(Dlpack, MemoryThatTheDeviceCannotAccessIsRefused) {
  if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "there is one kind of memory";
  std::vector<float> on_the_host(6);
  Versioned producer(arange<float>(6));
  producer.tensor.dl_tensor.data = on_the_host.data();
  for (const DLDeviceType type : {kDLCUDA, kDLCUDAHost, kDLCUDAManaged}) {
    producer.tensor.dl_tensor.device.device_type = type;
    producer.deleted = 0;
    EXPECT_THROW(from_dlpack(&producer.tensor), LogicError) << int(type);
    EXPECT_EQ(producer.deleted, 1);
  }
  producer.tensor.dl_tensor.device = {kDLCUDA, 1000};
  EXPECT_THROW(from_dlpack(&producer.tensor), IndexError);
}

TEST(Dlpack, MemoryOfTheHostIsAnArrayOfTheCpuDevice) {
  std::vector<float> memory = {1, 2, 3};
  Versioned producer(arange<float>(3));
  producer.tensor.dl_tensor.data = memory.data();
  producer.tensor.dl_tensor.device = {kDLCPU, 0};
  const DeviceNDArray<float> array = from_dlpack(&producer.tensor);
  EXPECT_TRUE(array.device().is_cpu());
  array *= 2.f;
  array.stream().synchronize();
  EXPECT_EQ(memory, (std::vector<float>{2, 4, 6}));
}

TEST(Dlpack, PageLockedAndManagedMemoryKeepTheirKind) {
  const auto mapped = mapped_array<float>({3});
  const auto managed = managed_array<float>({3});
  mapped.fill(1), managed.fill(2);
  auto a = to_dlpack(mapped), b = to_dlpack(managed);
  if (!mapped.device().is_cpu()) {
    EXPECT_EQ(a->dl_tensor.device.device_type, kDLCUDAHost);
    EXPECT_EQ(b->dl_tensor.device.device_type, kDLCUDAManaged);
  }
  const DeviceNDArray<float> from_mapped = from_dlpack(std::move(a));
  const DeviceNDArray<float> from_managed = from_dlpack(std::move(b));
  EXPECT_EQ(values(from_mapped + from_managed), std::vector<float>(3, 3.f));
  EXPECT_EQ(from_mapped.buffer()->space(),
            mapped.device().is_cpu() ? MemorySpace::device : MemorySpace::mapped);
}

TEST(Dlpack, TheConsumersStreamWaitsForTheWorkOfEveryStream) {
  const auto first = stream(), second = stream(), consumer = stream();
  const auto array = full<float>({1 << 16}, 1.f, {.stream = first});
  {
    const StreamGuard guard(second);
    second.wait_event(first.record());
    array += 1.f;
  }
  auto tensor = to_dlpack(array, consumer);
  const DeviceNDArray<float> seen = from_dlpack(std::move(tensor), consumer);
  EXPECT_EQ(seen.stream(), consumer);
  const DeviceNDArray<float> sums = seen + 1.f;
  EXPECT_EQ(sums(-1).item(), 3);
}

}  // namespace
}  // namespace quarry
