// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/annotation.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <quarry/quarry.hpp>

#include "memory/ranges.hpp"

namespace quarry {
namespace {

using namespace kernels;
using Annotations = test::Annotations;

TEST_F(Annotations, ShowWhatIsComputed) {
  const auto a = ones<float>({40, 30}), b = ones<float>({40, 30}), c = ones<float>({40, 30});
  const auto map = ranges_of([&] { c(all, all) = a + b * 2.f; });
  ASSERT_EQ(map.size(), 1u) << testing::PrintToString(map);
  EXPECT_EQ(map[0], "map add multiply float32 (40, 30) (1200)");
  EXPECT_TRUE(
      has(ranges_of([&] { sum(a * b, 0); }), "reduce multiply sum float32 (40, 30) (1200)"));
  EXPECT_TRUE(has(ranges_of([&] { nonzero(a > 0.f); }), "select greater"));
}

QUARRY_FUNCTION(blended, (auto x, auto y), (x + y) / 2);

TEST_F(Annotations, ShowFunctionsOfTheProgram) {
  const auto a = ones<double>({30}), b = ones<double>({30});
  EXPECT_TRUE(
      has(ranges_of([&] { a(all) = blended(a, sqrt(b)); }), "map blended sqrt float64 (30,) (30)"));
}

TEST_F(Annotations, ShowCopiesAndFills) {
  const auto a = zeros<int>({10, 20}), b = zeros<int>({10, 20});
  std::vector<int> host(200, 1);
  EXPECT_TRUE(has(ranges_of([&] { a.fill(3); }), "fill int32 (10, 20)"));
  EXPECT_TRUE(
      has(ranges_of([&] { a.reshape({200}).copy_to_device(host); }), "upload int32 (200,) (800)"));
  EXPECT_TRUE(
      has(ranges_of([&] { a.reshape({200}).copy_to_host(host); }), "download int32 (200,) (800)"));
  EXPECT_TRUE(has(ranges_of([&] { b(all, all) = a; }), "copy int32 (10, 20) (800)"));
  EXPECT_TRUE(has(ranges_of([&] { memcpy_dtod(a, b, 800); }), "memcpy_dtod 800 bytes (800)"));
  EXPECT_TRUE(has(ranges_of([&] { memcpy_htod(a, host); }), "memcpy_htod 800 bytes (800)"));
  EXPECT_TRUE(has(ranges_of([&] { memcpy_dtoh(host, a); }), "memcpy_dtoh 800 bytes (800)"));
  EXPECT_TRUE(has(ranges_of([&] { memset_d32(a, 1, 200); }), "memset_d32 800 bytes (800)"));
  EXPECT_TRUE(
      has(ranges_of([&] { memset_d2d8(a, 80, 1, 5, 10); }), "memset_d2d8 10 x 5 bytes (50)"));
}

TEST_F(Annotations, ShowAllocations) {
  const auto ranges = ranges_of([] { device_array<float>({1000}); });
  ASSERT_EQ(ranges.size(), 2u) << testing::PrintToString(ranges);
  EXPECT_EQ(ranges[0].find("allocate 4000 bytes from "), 0u);
  EXPECT_EQ(ranges[1].find("free 4000 bytes to "), 0u);
}

TEST_F(Annotations, AreOffUnlessWanted) {
  set_annotations(false);
  EXPECT_FALSE(has_annotations());
  EXPECT_TRUE(ranges_of([] { sum(ones<float>({1000})).item(); }).empty());
  set_annotations(true);
  EXPECT_FALSE(ranges_of([] { sum(ones<float>({1000})).item(); }).empty());
}

TEST_F(Annotations, EndWithAnException) {
  const auto a = zeros<int>({10});
  const auto ranges = ranges_of([&] { EXPECT_THROW(device_array<char>({1l << 50}), MemoryError); });
  EXPECT_FALSE(ranges.empty());
}

}  // namespace
}  // namespace quarry
