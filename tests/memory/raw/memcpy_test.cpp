// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <numeric>
#include <string>
#include <vector>

namespace quarry {
namespace {

std::vector<int> count_from(int first, std::size_t size) {
  std::vector<int> values(size);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A host array with strides, as xtensor's are.
struct Strided {
  std::vector<int>* values;
  std::vector<std::size_t> extents;
  std::vector<std::ptrdiff_t> steps;
  int* data() const { return values->data(); }
  const auto& shape() const { return extents; }
  const auto& strides() const { return steps; }
};

TEST(Memcpy, ThereAndBack) {
  const auto host = count_from(0, 100);
  const auto first = mem_alloc_like(host), second = mem_alloc_like(host);
  memcpy_htod(first, host);
  memcpy_dtod(second, first, 400);
  std::vector<int> back(100);
  memcpy_dtoh(back, second);
  EXPECT_EQ(back, host);
}

TEST(Memcpy, TakesEveryContiguousRangeOfTheHost) {
  const auto memory = mem_alloc(16);
  const std::array<int, 4> array{1, 2, 3, 4};
  int plain[4] = {};
  memcpy_htod(memory, array);
  memcpy_dtoh(std::span(plain), memory);
  EXPECT_EQ(plain[3], 4);
  memcpy_htod(memory, std::string("0123456789abcdef"));
  std::string text(16, ' ');
  memcpy_dtoh(text, memory);
  EXPECT_EQ(text, "0123456789abcdef");
  struct Pair {
    double a;
    int b;
  };
  std::vector<Pair> pairs{{1.5, 2}};
  memcpy_htod(memory, pairs);
  pairs[0] = {};
  memcpy_dtoh(pairs, memory);
  EXPECT_EQ(pairs[0].a, 1.5);
}

TEST(Memcpy, TakesStridedArraysThatAreDense) {
  auto values = count_from(0, 100);
  const auto memory = mem_alloc(400);
  for (const auto& dense : {Strided{&values, {2, 50}, {50, 1}}, Strided{&values, {2, 50}, {1, 2}},
                            Strided{&values, {1, 100}, {7, 1}}, Strided{&values, {}, {}}}) {
    EXPECT_NO_THROW(memcpy_htod(memory, dense));
  }
  for (const auto& gaps : {Strided{&values, {2, 25}, {50, 2}}, Strided{&values, {2, 10}, {50, 1}},
                           Strided{&values, {5}, {0}}, Strided{&values, {5}, {-1}}}) {
    EXPECT_THROW(memcpy_htod(memory, gaps), LogicError);
    EXPECT_THROW(memcpy_dtoh(gaps, memory), LogicError);
  }
}

TEST(Memcpy, TakesArraysOfTheDevice) {
  const auto a = arange<int>(10);
  const auto b = zeros<int>({10});
  synchronize();
  memcpy_dtod(b, a, 40);
  EXPECT_EQ(sum(b).item(), 45);
  std::vector<int> back(5);
  memcpy_dtoh(back, DevicePtr(a(range(5, _))));
  EXPECT_EQ(back, count_from(5, 5));
}

TEST(Memcpy, CopiesOfNothingDoNothing) {
  const auto memory = mem_alloc(4);
  memcpy_htod(memory, std::vector<int>());
  memcpy_dtoh(std::span<int>(), memory);
  memcpy_htod(DevicePtr(), std::vector<int>());
  memcpy_dtod(DevicePtr(), DevicePtr(), 0);
  memcpy_peer(DevicePtr(), DevicePtr(), 0);
}

TEST(Memcpy, AsyncFormsRunInTheirStream) {
  const Stream s = stream();
  const auto first = mem_alloc(400), second = mem_alloc(400);
  PageLockedMemoryPool pool;
  const auto from = pool.allocate(400), to = pool.allocate(400);
  std::fill_n(from.data(), 400, std::byte{5});
  std::fill_n(to.data(), 400, std::byte{0});
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  memcpy_htod_async(first, from, s);
  memcpy_dtod_async(second, first, 400, s);
  EXPECT_FALSE(s.is_done());
  EXPECT_EQ(to.data()[0], std::byte{0});
  open.set_value();
  memcpy_dtoh_async(to, second, s);
  s.synchronize();
  EXPECT_EQ(std::vector<std::byte>(to.data(), to.data() + 400),
            std::vector<std::byte>(400, std::byte{5}));
}

TEST(Memcpy, PageableMemoryMayBeUsedAgainAtOnce) {
  const Stream s = stream();
  const auto memory = mem_alloc(400);
  auto host = count_from(0, 100);
  memcpy_htod_async(memory, host, s);
  host.assign(100, -1);
  std::vector<int> back(100);
  memcpy_dtoh_async(back, memory, s);
  s.synchronize();
  EXPECT_EQ(back, count_from(0, 100));
}

TEST(Memcpy, AsyncFormsTakeTheCurrentStream) {
  const Stream s = stream();
  const auto memory = mem_alloc(400);
  const StreamGuard guard(s);
  memcpy_htod_async(memory, count_from(3, 100));
  std::vector<int> back(100);
  memcpy_dtoh_async(back, memory);
  s.synchronize();
  EXPECT_EQ(back, count_from(3, 100));
}

template <class F>
std::string logic_error(F&& f) {
  try {
    f();
  } catch (const LogicError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Memcpy, RangesThatLeaveTheirAllocationAreRefused) {
  const auto memory = mem_alloc(100), other = mem_alloc(200);
  std::vector<std::byte> host(101);
  EXPECT_THROW(memcpy_htod(memory, host), LogicError);
  EXPECT_THROW(memcpy_dtoh(host, memory), LogicError);
  EXPECT_THROW(memcpy_dtod(memory, other, 101), LogicError);
  EXPECT_THROW(memcpy_dtod(other, memory, 101), LogicError);
  EXPECT_THROW(memcpy_dtod(memory + 1, other, 100), LogicError);
  EXPECT_THROW(memcpy_dtod(DevicePtr(memory) - 1, other, 1), LogicError);
  EXPECT_THROW(memcpy_dtod(memory, other, ~std::size_t{0}), LogicError);
  EXPECT_NO_THROW(memcpy_dtod(memory + 1, other, 99));
  const std::string text = logic_error([&] { memcpy_htod(memory, host); });
  EXPECT_NE(text.find("memcpy_htod: 101 bytes at 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("within the allocation of 100 bytes"), std::string::npos) << text;
}

TEST(Memcpy, NullPointersAreRefused) {
  std::vector<int> host(1);
  const auto memory = mem_alloc(4);
  EXPECT_THROW(memcpy_htod(DevicePtr(), host), LogicError);
  EXPECT_THROW(memcpy_dtoh(host, DevicePtr()), LogicError);
  EXPECT_THROW(memcpy_dtod(memory, DevicePtr(), 4), LogicError);
  EXPECT_THROW(memcpy_htod(memory, std::span(static_cast<int*>(nullptr), 1)), LogicError);
}

TEST(Memcpy, HostMemoryIsNoDeviceMemoryNorTheReverse) {
  if (Device().is_cpu()) GTEST_SKIP() << "there it is";
  std::vector<int> host(10), more(10);
  const auto memory = mem_alloc(40);
  const DevicePtr wrong(host.data());
  EXPECT_THROW(memcpy_dtod(memory, wrong, 40), LogicError);
  EXPECT_THROW(memcpy_dtod(wrong, memory, 40), LogicError);
  EXPECT_THROW(memcpy_htod(wrong, more), LogicError);
  EXPECT_THROW(memcpy_dtoh(more, wrong), LogicError);
  const std::span on_device(reinterpret_cast<int*>(memory.device_pointer()), 10);
  EXPECT_THROW(memcpy_htod(memory, on_device), LogicError);
  EXPECT_THROW(memcpy_dtoh(on_device, memory), LogicError);
  std::string text = logic_error([&] { memcpy_htod(wrong, more); });
  EXPECT_NE(text.find("as device memory, but are pageable host memory"), std::string::npos) << text;
  text = logic_error([&] { memcpy_htod(memory, on_device); });
  EXPECT_NE(text.find("as host memory, but are device memory of cuda"), std::string::npos) << text;
  memcpy_htod(memory, host);  // all is as before
}

TEST(Memcpy, DevicesMustBeOfOneKind) {
  if (Device().is_cpu()) GTEST_SKIP() << "wants a GPU beside the CPU";
  const auto here = mem_alloc(40), there = mem_alloc(40, Device::cpu());
  EXPECT_THROW(memcpy_dtod(here, there, 40), LogicError);
  EXPECT_THROW(memcpy_peer(here, there, 40), LogicError);
  std::vector<int> host(10);
  EXPECT_THROW(memcpy_htod_async(there, host, default_stream()), LogicError);
  memcpy_htod(there, host);  // the pointer says which device
}

TEST(MemcpyPeer, CopiesOnOneDeviceToo) {
  const auto first = mem_alloc(400), second = mem_alloc(400);
  memcpy_htod(first, count_from(0, 100));
  memcpy_peer(second, first, 400);
  std::vector<int> back(100);
  memcpy_dtoh(back, second);
  EXPECT_EQ(back, count_from(0, 100));
}

TEST(MemcpyPeer, CopiesBetweenTwoDevices) {
  if (gpus.size() < 2) GTEST_SKIP() << "wants two GPUs";
  const auto from = mem_alloc(400, gpus[0]), to = mem_alloc(400, gpus[1]);
  memcpy_htod(from, count_from(0, 100));
  memcpy_peer(to, from, 400);
  std::vector<int> back(100);
  memcpy_dtoh(back, to);
  EXPECT_EQ(back, count_from(0, 100));

  memcpy_htod(from, count_from(7, 100));
  const Stream s = stream({.device = gpus[1]});
  memcpy_peer_async(to, from, 400, s);
  s.synchronize();
  memcpy_dtoh(back, to);
  EXPECT_EQ(back, count_from(7, 100));

  memcpy_htod(from, count_from(9, 100));
  memcpy_peer(DevicePtr(to.device_pointer()), DevicePtr(from.device_pointer()), 400, gpus[1],
              gpus[0]);
  memcpy_dtoh(back, to);
  EXPECT_EQ(back, count_from(9, 100));
  EXPECT_THROW(memcpy_peer(to, from, 401), LogicError);
}

}  // namespace
}  // namespace quarry
