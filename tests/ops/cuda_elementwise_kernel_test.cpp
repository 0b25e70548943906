// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>
#include <quarry/ops/elementwise_kernel.hpp>
#include <quarry/quarry.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ops/text_kernels.hpp"

namespace quarry {
namespace {

using test::message_of;
using test::Random;
using test::set_on_host;
using test::TextKernels;
using test::values;

using Squares = ElementwiseKernel<float(float, float)>;

Squares squares() {
  const Squares f("x, y", "x * x + y * 2", "squares");
  set_on_host(
      f.text(), +[](float x, float y) { return x * x + y * 2; });
  return f;
}

float hash_of(std::size_t i) { return static_cast<float>(i * 37 % 101); }

TEST_F(TextKernels, ElementwiseOnesArePartsOfExpressions) {
  const Squares f = squares();
  const auto a = arange<float>(100);
  const auto before = test::launches();
  const DeviceNDArray<float> c = sqrt(f(a, a + 1.f)) + f(a, 3);
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(test::launches(), before + 1);
  }
  const auto got = values(c);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = static_cast<float>(i);
    EXPECT_EQ(got[i], std::sqrt(x * x + (x + 1) * 2) + (x * x + 6)) << i;
  }
  EXPECT_EQ(sum(f(a(range(4)), 1)).item(), 14 + 8);
  EXPECT_EQ(values(a(f(a, 0) < 10)), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(TextKernels, ElementwiseOnesTakeAnyLayoutAndBroadcast) {
  const Squares f = squares();
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const auto x = test::drawn<float>(random, std::size_t(random.between(0, 4)), 9, hash_of);
    const auto row = to_device(std::vector<float>{5});
    const auto got = values(eval(f(x.array, row)));
    ASSERT_EQ(got.size(), x.model.at.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const float v = hash_of(std::size_t(x.model.at[k]));
      ASSERT_EQ(got[k], v * v + 10) << "round " << round;
    }
  }
  const auto column = arange<float>(3).reshape({3, 1});
  EXPECT_EQ(eval(f(column, arange<float>(4))).shape(), (Shape{3, 4}));
  EXPECT_THROW(f(arange<float>(3), arange<float>(4)), ShapeError);
}

TEST_F(TextKernels, ArgumentsAndResultsAreConverted) {
  const ElementwiseKernel<std::int16_t(double)> f("x", "x * 1.5", "scaled");
  set_on_host(
      f.text(), +[](double x) { return static_cast<std::int16_t>(x * 1.5); });
  const auto got = eval(f(arange<std::int32_t>(4)));
  static_assert(std::is_same_v<decltype(got), const DeviceNDArray<std::int16_t>>);
  EXPECT_EQ(values(got), (std::vector<std::int16_t>{0, 1, 3, 4}));
  EXPECT_THROW((ElementwiseKernel<std::uint8_t(std::uint8_t, std::uint8_t)>("x, y", "x", "f")(
                   zeros<std::uint8_t>({2}), 300)),
               DTypeError);
}

TEST_F(TextKernels, OperationsMayBeStatementsWithAPreamble) {
  const ElementwiseKernel<double(double)> f(
      "x", "double y = x; // the smaller one\n if (y > limit()) return limit();\nreturn y;", "sqrt",
      "__device__ double limit() { return sqrt(6.25); }");
  set_on_host(
      f.text(), +[](double x) { return std::min(x, 2.5); });
  EXPECT_EQ(values(f(arange<double>(5))), (std::vector<double>{0, 1, 2, 2.5, 2.5}));
}

TEST_F(TextKernels, HalfPrecisionAndComplexNumbersArePossible) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "no host function stands for these";
  using Half = kernels::float16;
  static_assert(std::is_same_v<kernel_type_t<host_type_t<TypeId::float16>>, Half>);
  const ElementwiseKernel<host_type_t<TypeId::float16>(host_type_t<TypeId::float16>)> half(
      "x", "x * 2 + 1", "halves");
  const auto x = arange<float>(5).astype<host_type_t<TypeId::float16>>();
  EXPECT_EQ(values(half(x).astype<float>()), (std::vector<float>{1, 3, 5, 7, 9}));
  const ElementwiseKernel<std::complex<float>(std::complex<float>)> turned(
      "z", "z * complex<float>{0, 1}", "turned");
  const auto z = eval(turned(arange<float>(3).astype<std::complex<float>>()));
  EXPECT_EQ(values(imag(z)), (std::vector<float>{0, 1, 2}));
}

/// The type of the program is the same: what differs is the text.
TEST_F(TextKernels, OtherTextsAreOtherKernels) {
  const Squares plus("x, y", "x + y", "f"), minus("x, y", "x - y", "f");
  set_on_host(
      plus.text(), +[](float x, float y) { return x + y; });
  set_on_host(
      minus.text(), +[](float x, float y) { return x - y; });
  const auto a = arange<float>(6);
  const auto made = [] {
    const KernelCacheStatistics statistics = kernel_cache_statistics();
    return statistics.compiled + statistics.disk_hits;
  };
  const auto before = made();
  values(plus(a, 1));
  values(minus(a, 1));
  EXPECT_EQ(made(), before + 2);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(values(plus(a, 1)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(values(minus(a, 1)), (std::vector<float>{-1, 0, 1, 2, 3, 4}));
  }
  EXPECT_EQ(values(plus(minus(a, 1), minus(a, 2))), (std::vector<float>{-3, -1, 1, 3, 5, 7}));
}

/// How many files of the cache, which other processes use too, have the text in their keys.
std::ptrdiff_t kernels_on_disk_with(const std::string& text) {
  const std::filesystem::directory_iterator files(kernel_cache_info().path);
  return std::count_if(begin(files), end(files), [&](const auto& file) {
    std::ifstream in(file.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {}).find(text) != std::string::npos;
  });
}

TEST_F(TextKernels, WhatMayIncludeFilesIsNotKeptOnDisk) {
  if (kernel_cache_info().path.empty()) GTEST_SKIP() << "the disk cache is disabled";
  const auto kept = [](const std::string& word) {
    const std::string mark = word + std::to_string(::getpid());
    const Squares f("x, y", "x + y", "f", "// " + mark + "\n");
    set_on_host(
        f.text(), +[](float x, float y) { return x + y; });
    EXPECT_EQ(values(f(arange<float>(3), 1)), (std::vector<float>{1, 2, 3}));
    return kernels_on_disk_with(mark);
  };
  EXPECT_EQ(kept("a word "), 1);
  EXPECT_EQ(kept("#include "), 0);
}

TEST_F(TextKernels, EqualTextsAreCompiledOnce) {
  const auto a = arange<float>(6);
  values(squares()(a, a));
  const auto before = kernel_cache_statistics().compiled;
  values(squares()(a, a));
  EXPECT_EQ(kernel_cache_statistics().compiled, before);
  EXPECT_EQ(&squares().text(), &Squares("x, y", "x * x + y * 2", "squares").text());
  EXPECT_NE(&squares().text(), &Squares("y, x", "x * x + y * 2", "squares").text());
}

TEST_F(TextKernels, WhatDoesNotCompileIsACompileErrorWithItsLines) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake compiler reads no operation";
  const Squares f("x, y", "x +\n nonsense", "broken_one");
  auto out = zeros<float>({4});
  try {
    out.assign(f(out, 1));
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("broken_one(2): error: identifier \"nonsense\" is undefined"),
              std::string::npos)
        << e.log();
    EXPECT_NE(e.source().find("x +\n nonsense"), std::string::npos);
  }
  EXPECT_EQ(values(out), std::vector<float>(4, 0));
}

TEST_F(TextKernels, OperandsMayBeDroppedWhileTheKernelIsQueued) {
  const Squares f = squares();
  DeviceNDArray<float> c;
  {
    const Stream other = stream();
    const StreamGuard guard(other);
    auto a = ones<float>({1000});
    c = f(a, a);
  }
  EXPECT_EQ(values(c), std::vector<float>(1000, 3));
}

TEST(ElementwiseKernel, ParametersAreAsManyNamesAsTheTypeHas) {
  EXPECT_EQ(message_of<LogicError>([] { Squares("x", "x", "f"); }),
            "the parameters \"x\" are 1, and the kernel's type has 2");
  EXPECT_EQ(message_of<LogicError>([] { Squares("x, 3", "x", "f"); }),
            "the parameters \"x, 3\": \"3\" is no name");
  EXPECT_EQ(message_of<LogicError>([] { Squares("x, y", "x", "a b"); }),
            "the name of a kernel is a C++ identifier, not \"a b\"");
}

TEST(ElementwiseKernel, IsForGpus) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "of the CPU device";
  EXPECT_EQ(message_of<LogicError>([] { squares()(ones<float>({2}), 1); }),
            "the kernel squares is source for GPUs, and its arguments are on the CPU device: a "
            "QUARRY_FUNCTION runs on both");
}

}  // namespace
}  // namespace quarry
