// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gate.hpp"

/// The copies of one-dimensional CUDA arrays, by byte index.
namespace quarry {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::size_t size, std::mt19937& random) {
  Bytes bytes(size);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}
Bytes contents(const CudaArray& array) {
  Bytes bytes(array.descriptor().bytes());
  memcpy_atoh(bytes, array, 0);
  return bytes;
}
Bytes contents(const DeviceAllocation& memory) {
  Bytes bytes(memory.size());
  memcpy_dtoh(bytes, memory);
  return bytes;
}
/// `bytes` of `from` at `at`, as plain loops put them.
Bytes with(Bytes to, std::size_t at, const Bytes& from, std::size_t from_at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[at + i] = from[from_at + i];
  return to;
}

struct Element {
  TypeId type;
  unsigned channels;
};
constexpr Element elements[] = {{TypeId::uint8, 1},   {TypeId::int8, 4},   {TypeId::uint16, 2},
                                {TypeId::int16, 1},   {TypeId::int32, 4},  {TypeId::uint32, 1},
                                {TypeId::float16, 4}, {TypeId::float32, 2}};

/// A range of whole elements in an array of 100.
struct Range {
  Range(std::mt19937& random, std::size_t element) {
    const std::size_t first = random() % 100, count = random() % (101 - first);
    at = first * element;
    bytes = count * element;
  }
  std::size_t at, bytes;
};

template <class F>
void for_each_element(F&& f) {
  std::mt19937 random(1);
  for (const Element& e : elements) {
    const CudaArray array({.width = 100, .dtype = e.type, .num_channels = e.channels});
    const std::size_t size = array.descriptor().element_bytes();
    for (int i = 0; i < 10; ++i) {
      const Bytes before = random_bytes(array.descriptor().bytes(), random);
      memcpy_htoa(array, 0, before);
      f(array, before, size, random);
    }
  }
}

TEST(ArrayRows, FromAndToTheHost) {
  for_each_element([](const auto& array, const Bytes& before, std::size_t size, auto& random) {
    const Range r(random, size);
    const Bytes host = random_bytes(r.bytes, random);
    memcpy_htoa(array, r.at, host);
    EXPECT_EQ(contents(array), with(before, r.at, host, 0, r.bytes));
    Bytes back(r.bytes);
    memcpy_atoh(back, array, r.at);
    EXPECT_EQ(back, host);
  });
}

TEST(ArrayRows, FromAndToTheDevice) {
  for_each_element([](const auto& array, const Bytes& before, std::size_t size, auto& random) {
    const Range r(random, size);
    const Bytes bytes = random_bytes(1700, random);
    const auto memory = mem_alloc(1700);
    memcpy_htod(memory, bytes);
    memcpy_dtoa(array, r.at, memory + 16, r.bytes);
    const Bytes expected = with(before, r.at, bytes, 16, r.bytes);
    EXPECT_EQ(contents(array), expected);
    const Range back(random, size);
    memcpy_atod(memory + 32, array, back.at, back.bytes);
    EXPECT_EQ(contents(memory), with(bytes, 32, expected, back.at, back.bytes));
  });
}

TEST(ArrayRows, FromOneToAnother) {
  for_each_element([](const auto& array, const Bytes& before, std::size_t size, auto& random) {
    const CudaArray other({.width = 130,
                           .dtype = array.descriptor().dtype,
                           .num_channels = array.descriptor().num_channels});
    const Bytes there = random_bytes(other.descriptor().bytes(), random);
    memcpy_htoa(other, 0, there);
    const Range r(random, size);
    memcpy_atoa(other, r.at + 30 * size, array, r.at, r.bytes);
    EXPECT_EQ(contents(other), with(there, r.at + 30 * size, before, r.at, r.bytes));
    memcpy_atoa(array, r.at, other, r.at, r.bytes);
    const Bytes moved = with(there, r.at + 30 * size, before, r.at, r.bytes);
    EXPECT_EQ(contents(array), with(before, r.at, moved, r.at, r.bytes));
  });
}

TEST(ArrayRows, WithinOneArray) {
  const CudaArray array({.width = 10, .dtype = TypeId::uint8});
  memcpy_htoa(array, 0, Bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  memcpy_atoa(array, 5, array, 1, 3);
  EXPECT_EQ(contents(array), (Bytes{0, 1, 2, 3, 4, 1, 2, 3, 8, 9}));
}

TEST(ArrayRows, OfTypedRanges) {
  const CudaArray array({.width = 50});
  std::vector<float> values(50), back(10);
  std::iota(values.begin(), values.end(), 0.f);
  memcpy_htoa(array, 0, values);
  memcpy_atoh(std::span(back), array, 20 * sizeof(float));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), values.begin() + 20));
  const auto a = zeros<float>({10});
  memcpy_atod(a, array, 0, 40);
  EXPECT_EQ(sum(a).item(), 45.f);
}

TEST(ArrayRows, AsyncFormsRunInTheirStream) {
  const Stream s = stream();
  const CudaArray array({.width = 400, .dtype = TypeId::uint8});
  PageLockedMemoryPool pool;
  const auto from = pool.allocate(400), to = pool.allocate(400);
  std::fill_n(from.data(), 400, std::byte{5});
  std::fill_n(to.data(), 400, std::byte{0});
  {
    const test::Gate gate(s);
    memcpy_htoa_async(array, 0, from, s);
    EXPECT_FALSE(s.is_done());
  }
  memcpy_atoh_async(to, array, 0, s);
  s.synchronize();
  EXPECT_EQ(std::count(to.data(), to.data() + 400, std::byte{5}), 400);
}

TEST(ArrayRows, AsyncFormsTakeTheCurrentStreamAndPageableMemoryIsFreeOnReturn) {
  const Stream s = stream();
  const StreamGuard guard(s);
  const CudaArray array({.width = 100, .dtype = TypeId::int32});
  std::vector<int> host(100, 3), back(100);
  memcpy_htoa_async(array, 0, host);
  host.assign(100, -1);
  memcpy_atoh_async(back, array, 0);
  s.synchronize();
  EXPECT_EQ(back, std::vector<int>(100, 3));
}

TEST(ArrayRows, FreeWaitsForTheCopiesInAllStreams) {
  const Stream s = stream();
  const auto memory = mem_alloc(64), copied = mem_alloc(64);
  memcpy_htod(memory, Bytes(64, 7));
  CudaArray array({.width = 64, .dtype = TypeId::uint8});
  memcpy_dtoa(array, 0, memory, 64);
  Memcpy2D copy;
  copy.set_src_array(array);
  copy.set_dst_device(copied);
  copy.width_in_bytes = 64;
  copy.height = 1;
  test::Gate gate(s);
  copy(s);
  EXPECT_FALSE(s.is_done());
  std::atomic<bool> is_open = false;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_open = true;
    gate.open();
  });
  array.free();
  EXPECT_TRUE(is_open) << "the copy had not begun";
  opener.join();
  s.synchronize();  // lets go of the gate's callback
  EXPECT_EQ(contents(copied), Bytes(64, 7));
}

class RefusedRows : public testing::Test {
 protected:
  template <class F>
  static void expect_error(F&& f, const std::string& part) {
    try {
      f();
      ADD_FAILURE() << "no error with " << part;
    } catch (const LogicError& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }

  CudaArray array_ = CudaArray({.width = 10, .dtype = TypeId::float32, .num_channels = 2});
  DeviceAllocation memory_ = mem_alloc(200);
  Bytes host_ = Bytes(80);
};

TEST_F(RefusedRows, RangesThatLeaveTheArray) {
  expect_error(
      [&] { memcpy_htoa(array_, 8, host_); },
      "memcpy_htoa: the destination is a CUDA array of 10 x 0 x 0 of 2 x float32: 80 bytes "
      "from 8 on leave its 80");
  expect_error([&] { memcpy_atoh(host_, array_, 88); }, "80 bytes from 88 on");
  expect_error([&] { memcpy_dtoa(array_, 0, memory_, 88); }, "88 bytes from 0 on");
  expect_error([&] { memcpy_atod(memory_, array_, 80, 8); }, "8 bytes from 80 on");
  expect_error([&] { memcpy_atoa(array_, 0, array_, 48, 40); }, "memcpy_atoa: the source is");
}

TEST_F(RefusedRows, IndicesAreNotCutTo32Bits) {
  const std::size_t far = std::size_t{1} << 32;
  expect_error([&] { memcpy_htoa(array_, far, host_); }, "80 bytes from 4294967296 on");
  expect_error([&] { memcpy_atod(memory_, array_, far, 8); }, "8 bytes from 4294967296 on");
  expect_error([&] { memcpy_atod(memory_, array_, ~std::size_t{7}, 16); }, "leave its 80");
  expect_error([&] { memcpy_dtoa(array_, 0, memory_, far); }, "4294967296 bytes from 0 on");
}

TEST_F(RefusedRows, PartsOfElements) {
  expect_error([&] { memcpy_htoa(array_, 4, Bytes(8)); },
               "an offset of 4 bytes, but the elements of the CUDA array have 8");
  expect_error([&] { memcpy_atod(memory_, array_, 0, 12); }, "a width of 12 bytes");
  const CudaArray small({.width = 80, .dtype = TypeId::uint8});
  expect_error([&] { memcpy_atoa(small, 0, array_, 0, 8); }, "their elements differ in size");
  memcpy_atod(memory_ + 1, array_, 0, 8);  // memory may begin anywhere
}

TEST_F(RefusedRows, ArraysOfMoreDimensions) {
  for (const ArrayDescriptor& d : {ArrayDescriptor{.width = 10, .height = 2},
                                   ArrayDescriptor{.width = 10, .height = 2, .depth = 2},
                                   ArrayDescriptor{.width = 10, .depth = 2, .layered = true}}) {
    const CudaArray array(d);
    expect_error([&] { memcpy_htoa(array, 0, Bytes(40)); },
                 "memcpy_htoa: a CUDA array of " + to_string(d) + ", which has more than one");
    expect_error([&] { memcpy_atod(memory_, array, 0, 40); }, "more than one dimension");
  }
}

TEST_F(RefusedRows, MemoryThatIsTooSmallOrFreed) {
  expect_error([&] { memcpy_dtoa(array_, 0, memory_ + 160, 80); }, "80 bytes at");
  memory_.free();
  expect_error([&] { memcpy_dtoa(array_, 0, memory_, 80); }, "has been freed");
}

TEST_F(RefusedRows, ArraysThatHaveBeenFreed) {
  array_.free();
  expect_error([&] { memcpy_htoa(array_, 0, host_); }, "the CUDA array has been freed");
  expect_error([&] { memcpy_atoh(host_, array_, 0); }, "the CUDA array has been freed");
  expect_error([&] { memcpy_atod(memory_, array_, 0, 0); }, "the CUDA array has been freed");
}

TEST_F(RefusedRows, NothingIsCopiedWithoutBytes) {
  memcpy_htoa(array_, 0, std::vector<float>());
  memcpy_dtoa(array_, 0, DevicePtr(), 0);
  EXPECT_NO_THROW(memcpy_atoa(array_, 0, array_, 0, 0));
}

}  // namespace
}  // namespace quarry
