// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/pinned.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "memory/host/polled_line.hpp"

/// Single elements on the host, asked for so often that kernels bring them.
namespace quarry {
namespace {

constexpr int many = 300;

struct Pair {
  std::uint64_t first, second;
};
struct Odd {
  std::uint8_t first, second, third;
};

/// Elements of drawn bytes, and with the bytes that stand in the place of one that is not there.
template <class T>
std::vector<T> drawn_elements(unsigned seed) {
  const std::uint64_t none[] = {memory::no_element, memory::no_element};
  std::mt19937_64 random(seed);
  std::vector<T> elements(2 * many);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::array<std::uint64_t, 2> bytes{random(), random()};
    if (i % 7 == 0) bytes[0] = none[0];
    if (i % 7 == 0 || i % 7 == 1) bytes[1] = none[1];
    if constexpr (std::same_as<T, bool>) {
      elements[i] = bytes[0] % 2 != 0;
    } else {
      static_assert(sizeof(T) <= sizeof bytes);
      std::memcpy(static_cast<void*>(&elements[i]), bytes.data(), sizeof(T));
    }
  }
  return elements;
}

template <class T>
class ScalarDownload : public ::testing::Test {};
using Elements =
    ::testing::Types<bool, std::uint8_t, std::int16_t, std::uint32_t, float, std::int64_t, double,
                     std::complex<float>, std::complex<double>, Pair, Odd>;
TYPED_TEST_SUITE(ScalarDownload, Elements);

TYPED_TEST(ScalarDownload, HasTheBytesOfTheElement) {
  using T = TypeParam;
  const std::vector<T> elements = drawn_elements<T>(7);
  const auto a = to_device(elements);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T found = a(static_cast<std::int64_t>(i)).item(), wanted = elements[i];
    EXPECT_EQ(std::memcmp(&found, &wanted, sizeof(T)), 0) << i;
  }
}

TEST(ScalarDownloads, AreOfWhatIsQueuedBefore) {
  const Stream other = stream();
  for (const Stream& s : {default_stream(), other}) {
    const auto a = zeros<float>({3}, {.stream = s});
    const auto b = zeros<std::int64_t>({3}, {.stream = s});
    for (int i = 1; i <= many; ++i) {
      a(all) = a + 1.f;
      b(all) = b + 1;
      EXPECT_EQ(a(i % 3).item(), static_cast<float>(i));
      EXPECT_EQ(sum(b).item(), 3 * i);
    }
  }
}

TEST(ScalarDownloads, GoIntoAnyHostMemory) {
  const auto a = arange<int>(many);
  auto pinned = pinned_array<int>({1});
  for (int i = 0; i < many; ++i) {
    std::array<int, 1> to{-1};
    a(range(i, i + 1)).copy_to_host(to);
    EXPECT_EQ(to[0], i);
    a(range(i, i + 1)).copy_to_host(pinned);
    EXPECT_EQ(pinned(0), i);
  }
}

TEST(ScalarDownloads, AreOneLaunchAndNoCopy) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts what the fake driver does";
  const auto a = arange<float>(many);
  for (int i = 0; i < many; ++i) EXPECT_EQ(a(i).item(), static_cast<float>(i));
  const auto before = fake::statistics();
  EXPECT_EQ(a(5).item(), 5.f);
  EXPECT_EQ(fake::statistics().launches, before.launches + 1);
  EXPECT_NE(fake::last_kernel().find(", 1>"), std::string::npos) << "not one for all addresses";
  EXPECT_EQ(fake::statistics().copies, before.copies);
}

TEST(ScalarDownloads, ThatFailLeaveNoKernelBehind) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "needs a driver that fails";
  using backend::cuda::DriverFunction;
  const auto a = arange<float>(many);
  for (int i = 0; i < many; ++i) (void)a(i).item();
  const fake::Behaviour before = fake::behaviour();
  fake::set_behaviour({.eagerness = 0});
  backend::cuda::shim::inject({CUDA_ERROR_UNKNOWN, DriverFunction::StreamQuery});
  EXPECT_THROW((void)a(1).item(), RuntimeError);
  backend::cuda::shim::clear_faults();
  EXPECT_EQ(fake::pending(), 0u) << "a kernel writes where the next element is awaited";
  fake::set_behaviour(before);
  for (int i = 0; i < many; ++i) EXPECT_EQ(a(i).item(), static_cast<float>(i));
}

}  // namespace
}  // namespace quarry
