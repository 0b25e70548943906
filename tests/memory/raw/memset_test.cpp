// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <vector>

namespace quarry {
namespace {

template <class T>
std::vector<T> contents(const DeviceAllocation& memory) {
  std::vector<T> host(memory.size() / sizeof(T));
  memcpy_dtoh(host, memory);
  return host;
}

DeviceAllocation bytes_of(std::size_t bytes, std::uint8_t value) {
  auto memory = mem_alloc(bytes);
  memcpy_htod(memory, std::vector<std::uint8_t>(bytes, value));
  return memory;
}

template <class T>
class Memset : public testing::Test {
 protected:
  static void fill(const DevicePtr& to, T value, std::size_t count) {
    if constexpr (sizeof(T) == 1) memset_d8(to, value, count);
    if constexpr (sizeof(T) == 2) memset_d16(to, value, count);
    if constexpr (sizeof(T) == 4) memset_d32(to, value, count);
  }
  static void fill(const DevicePtr& to, T value, std::size_t count, const Stream& s) {
    if constexpr (sizeof(T) == 1) memset_d8_async(to, value, count, s);
    if constexpr (sizeof(T) == 2) memset_d16_async(to, value, count, s);
    if constexpr (sizeof(T) == 4) memset_d32_async(to, value, count, s);
  }
  static void fill_rows(const DevicePtr& to, std::size_t pitch, T value, std::size_t width,
                        std::size_t height) {
    if constexpr (sizeof(T) == 1) memset_d2d8(to, pitch, value, width, height);
    if constexpr (sizeof(T) == 2) memset_d2d16(to, pitch, value, width, height);
    if constexpr (sizeof(T) == 4) memset_d2d32(to, pitch, value, width, height);
  }
  static void fill_rows(const DevicePtr& to, std::size_t pitch, T value, std::size_t width,
                        std::size_t height, const Stream& s) {
    if constexpr (sizeof(T) == 1) memset_d2d8_async(to, pitch, value, width, height, s);
    if constexpr (sizeof(T) == 2) memset_d2d16_async(to, pitch, value, width, height, s);
    if constexpr (sizeof(T) == 4) memset_d2d32_async(to, pitch, value, width, height, s);
  }
  static constexpr T value = static_cast<T>(0x12345678u);
};
using Elements = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t>;
TYPED_TEST_SUITE(Memset, Elements);

TYPED_TEST(Memset, CountsElements) {
  using T = TypeParam;
  const auto memory = bytes_of(100 * sizeof(T), 0xEE);
  this->fill(memory + 10 * sizeof(T), this->value, 50);
  std::vector<T> expected(100, static_cast<T>(0xEEEEEEEEu));
  std::fill_n(expected.begin() + 10, 50, this->value);
  EXPECT_EQ(contents<T>(memory), expected);
  this->fill(memory, 1, 0);
  EXPECT_EQ(contents<T>(memory), expected);
}

TYPED_TEST(Memset, FillsRowsAndLeavesWhatIsBetween) {
  using T = TypeParam;
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    const std::size_t width = random() % 20 + 1, height = random() % 9, gap = random() % 5;
    const std::size_t row = width + gap;
    const auto memory = bytes_of((row * height + 8) * sizeof(T), 0xEE);
    std::vector<T> expected(row * height + 8, static_cast<T>(0xEEEEEEEEu));
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) expected[4 + y * row + x] = this->value;
    }
    this->fill_rows(memory + 4 * sizeof(T), row * sizeof(T), this->value, width, height);
    EXPECT_EQ(contents<T>(memory), expected);
  }
}

TYPED_TEST(Memset, AsyncRunsInItsStream) {
  using T = TypeParam;
  const auto memory = bytes_of(64 * sizeof(T), 0);
  const Stream s = stream();
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  this->fill(memory, this->value, 64, s);
  this->fill_rows(memory, 8 * sizeof(T), 0, 4, 8, s);
  EXPECT_FALSE(s.is_done());
  open.set_value();
  s.synchronize();
  std::vector<T> expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = i % 8 < 4 ? T{0} : this->value;
  EXPECT_EQ(contents<T>(memory), expected);
}

TYPED_TEST(Memset, RefusesWhatDoesNotFit) {
  using T = TypeParam;
  constexpr std::size_t size = sizeof(T);
  const auto memory = bytes_of(100 * size, 1);
  EXPECT_THROW(this->fill(memory, 0, 101), LogicError);
  EXPECT_THROW(this->fill(memory + size, 0, 100), LogicError);
  EXPECT_THROW(this->fill(DevicePtr(memory) - static_cast<std::ptrdiff_t>(size), 0, 1), LogicError);
  EXPECT_THROW(this->fill(memory, 0, ~std::size_t{0} / 2), LogicError);
  EXPECT_THROW(this->fill(DevicePtr(), 0, 1), LogicError);
  EXPECT_THROW(this->fill_rows(memory, 9 * size, 0, 10, 2), LogicError);
  EXPECT_THROW(this->fill_rows(memory, 10 * size, 0, 10, 11), LogicError);
  EXPECT_THROW(this->fill_rows(memory, ~std::size_t{0} / 4 * 3, 0, 10, 11), LogicError);
  EXPECT_NO_THROW(this->fill_rows(memory, 0, 1, 10, 1));
  if (size > 1) {
    EXPECT_THROW(this->fill(memory + 1, 0, 1), LogicError);
    EXPECT_THROW(this->fill_rows(memory + 1, 10 * size, 0, 10, 2), LogicError);
    EXPECT_THROW(this->fill_rows(memory, 10 * size + 1, 0, 10, 2), LogicError);
  }
}

TEST(MemsetValues, AreThoseOfTheBytes) {
  const auto memory = mem_alloc(40);
  memset_d8(memory, 0xAB, 40);
  EXPECT_EQ(contents<std::uint32_t>(memory), std::vector<std::uint32_t>(10, 0xABABABAB));
}

}  // namespace
}  // namespace quarry
