// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/ipc.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>
#include <random>

#include <quarry/array/creation.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include "fake_driver/test_device.hpp"
#include "memory/raw/second_process.hpp"

namespace quarry {
namespace {

using test::first_process;
using test::Line;
using test::SecondProcess;

using Array = DeviceNDArray<int>;

std::vector<int> values(const Array& array) {
  std::vector<int> result(static_cast<std::size_t>(array.size()));
  array.copy().copy_to_host(result);
  return result;
}

Array counted(const Shape& shape) {
  std::vector<int> host(static_cast<std::size_t>(element_count(shape)));
  std::iota(host.begin(), host.end(), 0);
  return to_device(host).reshape(shape);
}

/// Arrays of all layouts that name the memory of others.
std::vector<Array> views() {
  const Array line = counted({10}), plane = counted({4, 6});
  return {line,
          line(range(3, _)),
          line(range(3, 8)),
          line(range(8)),
          line(range(_, _, -1)),
          line(range(7, 1, -2)),
          plane,
          plane(range(1, 3), range(2, _, 3)),
          plane.transpose()(range(_, _, -1)),
          plane(2),
          line[4]};
}

class IpcArrays : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "only GPUs share memory";
  }
};

TEST(IpcArraysOnTheCpu, AreNotShared) {
  EXPECT_THROW(get_ipc_handle(to_device({1, 2}, {.device = Device::cpu()})), LogicError);
}

/// Opens what it gets, answers with the values, and writes their negatives.
TEST(IpcArraysSecondProcess, NegatesArrays) {
  const Line* const line = first_process();
  if (!line) GTEST_SKIP() << "the second process of another test";
  const auto count = line->receive_values<std::size_t>().at(0);
  for (std::size_t i = 0; i < count; ++i) {
    auto handle = IpcArrayHandle::from_bytes(line->receive());
    EXPECT_NE(handle.process_id(), getpid());
    EXPECT_THROW(handle.open<float>(), DTypeError);
    const Array array = handle.open<int>();
    EXPECT_TRUE(handle.is_open());
    EXPECT_THROW(handle.open<int>(), LogicError);
    EXPECT_EQ(array.shape(), handle.shape());
    EXPECT_EQ(array.strides(), handle.strides());
    std::vector<int> seen = values(array);
    line->send_values(seen);
    for (int& each : seen) each = -each;
    array.assign(to_device(seen).reshape(array.shape()));
    handle.close();
    EXPECT_THROW(handle.close(), LogicError);
    EXPECT_EQ(values(array), seen);  // the array keeps the memory
    line->signal();
  }
}

TEST_F(IpcArrays, ViewsOfAllLayoutsArriveWhole) {
  const auto all = views();
  const SecondProcess second("IpcArraysSecondProcess.NegatesArrays");
  second->send_values(std::vector{all.size()});
  for (const Array& array : all) {
    std::vector<int> before = values(array);
    second->send(get_ipc_handle(array).to_bytes());
    EXPECT_EQ(second->receive_values<int>(), before);
    second->wait();
    for (int& each : before) each = -each;
    EXPECT_EQ(values(array), before);
  }
}

/// Two arrays of one allocation: they share a mapping, which goes with the last of them.
TEST(IpcArraysSecondProcess, KeepsMemoryByArrays) {
  const Line* const line = first_process();
  if (!line) GTEST_SKIP() << "the second process of another test";
  auto first = IpcArrayHandle::from_bytes(line->receive());
  auto second = IpcArrayHandle::from_bytes(line->receive());
  std::optional<Array> a = first.open<int>();
  const DeviceNDArray<const int> b = second.open<const int>();
  EXPECT_EQ(b.device_pointer() - a->device_pointer(), 12);
  first.close();
  a.reset();
  EXPECT_EQ(b[0].item(), 3);
  const auto third =
      open_ipc_array<int>(first.handle(), {2, 2}, Strides{8, -4}, first.offset() + 4);
  EXPECT_EQ(values(third), (std::vector{1, 0, 3, 2}));
  EXPECT_THROW(open_ipc_array<int>(first.handle(), {1}, std::nullopt, first.allocation_size()),
               IndexError);
  const Array reopened = first.open<int>();
  EXPECT_EQ(reopened[9].item(), 9);
}

TEST_F(IpcArrays, AnAllocationIsMappedOnceAndClosedOnce) {
  const Array line = counted({10});
  synchronize();
  const SecondProcess second("IpcArraysSecondProcess.KeepsMemoryByArrays");
  second->send(get_ipc_handle(line).to_bytes());
  second->send(get_ipc_handle(line(range(3, _))).to_bytes());
}

TEST_F(IpcArrays, TheProcessThatExportsCannotOpen) {
  const Array array = counted({4});
  auto handle = IpcArrayHandle::from_bytes(get_ipc_handle(array).to_bytes());
  EXPECT_EQ(handle.process_id(), getpid());
  try {
    handle.open<int>();
    ADD_FAILURE() << "it was opened";
  } catch (const LogicError& e) {
    EXPECT_NE(std::string(e.what()).find("in the process that exported it"), std::string::npos);
  }
  EXPECT_FALSE(handle.is_open());
  EXPECT_THROW(handle.close(), LogicError);
}

TEST_F(IpcArrays, MemoryOfOtherKindsIsRefused) {
  for (const Resource& resource : {managed_resource(), mapped_resource(), driver_pool_resource()}) {
    const ResourceGuard guard(resource);
    EXPECT_THROW(get_ipc_handle(empty<int>({4})), LogicError) << resource.name();
  }
  EXPECT_THROW(get_ipc_handle(empty<int>({0, 3})), LogicError);
}

TEST_F(IpcArrays, HandlesSurviveTheirBytes) {
  struct Pair {
    float x, y;
  };
  const auto records = empty<Pair>({3, 2})(range(1, _), 1);
  const IpcArrayHandle handle = get_ipc_handle(records);
  const auto copy = IpcArrayHandle::from_bytes(handle.to_bytes());
  EXPECT_EQ(copy.handle(), handle.handle());
  EXPECT_EQ(copy.offset(), handle.offset());
  EXPECT_EQ(copy.allocation_size(), handle.allocation_size());
  EXPECT_EQ(copy.shape(), (Shape{2}));
  EXPECT_EQ(copy.strides(), (Strides{16}));
  EXPECT_EQ(copy.dtype(), dtype_of<Pair>);
  EXPECT_EQ(copy.device_uuid(), records.device().uuid());
  EXPECT_EQ(copy.to_bytes(), handle.to_bytes());
}

/// Extents from 1 to 3, strides and an offset of any number of bytes, inside of 256 bytes.
template <class Random>
Layout drawn_layout(Random& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Layout layout;
  const std::int64_t step = draw(0, 2) == 0 ? 1 : 4;  // most are aligned
  for (std::int64_t axis = draw(0, 3); axis > 0; --axis) {
    layout.shape.push_back(draw(1, 3));
    layout.strides.push_back(layout.shape.back() == 1 ? draw(-1000, 1000) : draw(-4, 4) * step);
  }
  return layout;
}

/// By the address of every element.
bool is_aligned(const Layout& layout, std::int64_t at) {
  bool result = true;
  for (std::int64_t n = 0; n < element_count(layout.shape); ++n) {
    std::int64_t element = at, rest = n;
    for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
      element += rest % layout.shape[axis] * layout.strides[axis];
      rest /= layout.shape[axis];
    }
    result &= element % 4 == 0;
  }
  return result;
}

TEST_F(IpcArrays, WhatIsExportedCanBeReadWhateverItsLayout) {
  const Array memory = counted({64});
  std::mt19937 random(1);
  int exported = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    const Layout layout = drawn_layout(random);
    const std::int64_t at = round % 8 == 0 ? 127 : 128;
    const Array array(layout, memory.device_pointer() + at, memory.buffer());
    if (!is_aligned(layout, at)) {
      EXPECT_THROW(get_ipc_handle(array), LogicError) << to_string(layout.strides);
      ++refused;
      continue;
    }
    const auto copy = IpcArrayHandle::from_bytes(get_ipc_handle(array).to_bytes());
    EXPECT_EQ(copy.shape(), layout.shape);
    EXPECT_EQ(copy.strides(), layout.strides);
    ++exported;
  }
  EXPECT_GT(exported, 100);
  EXPECT_GT(refused, 50);
}

TEST_F(IpcArrays, BytesOfAnyKindAreReadOrRefused) {
  const auto good = get_ipc_handle(counted({4, 6}).transpose()).to_bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(IpcArrayHandle::from_bytes(std::span(good).first(size)), FormatError) << size;
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THROW(IpcArrayHandle::from_bytes(longer), FormatError);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      auto changed = good;
      changed[at] ^= static_cast<std::byte>(flip);
      try {
        const auto handle = IpcArrayHandle::from_bytes(changed);
        const ByteBounds bounds =
            byte_bounds({handle.shape(), handle.strides()}, handle.dtype().itemsize());
        const auto offset = static_cast<std::int64_t>(handle.offset());
        EXPECT_GE(offset + bounds.lowest, 0);
        EXPECT_LE(offset + bounds.past, static_cast<std::int64_t>(handle.allocation_size()));
        const auto alignment = static_cast<std::int64_t>(handle.dtype().alignment());
        EXPECT_EQ(offset % alignment, 0);
        for (std::size_t d = 0; d < handle.shape().size(); ++d) {
          if (handle.shape()[d] > 1) {
            EXPECT_EQ(handle.strides()[d] % alignment, 0);
          }
        }
      } catch (const FormatError&) {  // as good
      }
    }
  }
}

}  // namespace
}  // namespace quarry
