// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/pointer_kernel.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/kernels/host_kernel.hpp"
#include "ops/text_kernels.hpp"

namespace user {

struct Pair {
  int a;
  float b;
};
QUARRY_RECORD(Pair, a, b);
struct Wide {
  std::int64_t a;
  double b;
};
QUARRY_RECORD(Wide, a, b);

}  // namespace user

namespace quarry {
namespace {

using fake::HostLaunch;
using test::message_of;
using test::TextKernels;
using test::values;

/// z[i] = a * x[i] by a plain loop, from what the kernel is told.
template <class A>
void set_scale_on_host(const std::string& name) {
  fake::set_host_kernel(name, {{8, 8, sizeof(A), 8, 8, 8, 8}, [](const HostLaunch& launch) {
                                 const auto start = launch.value<std::int64_t>(3),
                                            step = launch.value<std::int64_t>(4),
                                            count = launch.value<std::int64_t>(5);
                                 const auto n = std::size_t(launch.value<std::int64_t>(6));
                                 const auto z = launch.memory<float>(0, n),
                                            x = launch.memory<float>(1, n);
                                 const auto a = static_cast<float>(launch.value<A>(2));
                                 for (std::int64_t k = 0; k < count; ++k) {
                                   const auto i = std::size_t(start + k * step);
                                   z[i] = a * x[i];
                                 }
                               }});
}

constexpr const char* arguments = "float *z, const float *x, float a";

TEST_F(TextKernels, PointerOnesLoopOverArrays) {
  const PointerKernel scale(arguments, "z[i] = a * x[i]", "scale_floats");
  set_scale_on_host<int>("scale_floats");
  const auto x = arange<float>(100000), z = zeros<float>({100000});
  scale(z, x, 3);
  EXPECT_EQ(values(z), values(x * 3.f));
  set_scale_on_host<double>("scale_floats");
  const DeviceNDArray<const float> readable = x.reshape({100, 1000});
  scale(z.reshape({100, 1000}), readable, 0.5);
  EXPECT_EQ(values(z), values(x * 0.5f));
  scale(zeros<float>({0}), zeros<float>({0}), 1);
}

TEST_F(TextKernels, PointerOnesLoopOverRanges) {
  const PointerKernel scale(arguments, "z[i] = a * x[i]", "scale_some");
  set_scale_on_host<int>("scale_some");
  const auto x = arange<float>(50000);
  for (const auto& range : {IndexRange{5, 20000, 1}, IndexRange{5, 20000, 17},
                            IndexRange{3000, 5, -1}, IndexRange{1000, -1, -1}, IndexRange{7, 7}}) {
    const auto z = zeros<float>({50000});
    scale(range, z, x, 2);
    std::vector<float> want(50000, 0);
    for (auto i = range.start; range.step > 0 ? i < range.stop : i > range.stop; i += range.step) {
      want[std::size_t(i)] = 2 * static_cast<float>(i);
    }
    EXPECT_EQ(values(z), want) << range.start;
  }
  EXPECT_EQ(message_of<IndexError>([&] {
              scale({0, 50001, 1}, x, x, 2);
            }),
            "the range of indices from 0 to 50001 in steps of 1 is not within 50000 elements");
  EXPECT_THROW(scale({0, 1, 0}, x, x, 2), IndexError);
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max(), lowest = -highest - 1;
  EXPECT_THROW(scale({-5, highest, 1}, x, x, 2), IndexError);
  EXPECT_THROW(scale({lowest, highest, 1}, x, x, 2), IndexError);
  EXPECT_THROW(scale({highest, -5, -1}, x, x, 2), IndexError);
  EXPECT_THROW(scale({highest, lowest, lowest}, x, x, 2), IndexError);
  const auto z = zeros<float>({50000});
  scale({1, highest, highest}, z, x, 2);
  scale({2, lowest + 2, lowest}, z, x, 2);
  EXPECT_EQ(values(z(range(0, 4))), (std::vector<float>{0, 2, 4, 0}));
}

TEST_F(TextKernels, PointerOnesKeepTheirArrays) {
  DeviceNDArray<float> z;
  set_scale_on_host<float>("scale_kept");
  {
    const Stream other = stream();
    const StreamGuard guard(other);
    z = zeros<float>({1000});
    PointerKernel(arguments, "z[i] = a * x[i]", "scale_kept")(z, arange<float>(1000), 2.f);
  }
  EXPECT_EQ(values(z), values(arange<float>(1000) * 2.f));
}

TEST_F(TextKernels, PointerOnesHaveStatementsRoundTheLoop) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake compiler reads no statements";
  const PointerKernel total("const int *x, unsigned long long *sum, int by",
                            "mine += scaled(x[i], by)", "total_of",
                            {.preamble = "__device__ int scaled(int x, int by) { return x * by; }",
                             .loop_prep = "unsigned long long mine = 0;",
                             .after_loop = "atomicAdd(sum, mine);"});
  const auto x = arange<int>(1000);
  // PyCUDA's arrays are of one size, too
  const auto sum_of = zeros<std::uint64_t>({1000});
  total(x, sum_of, 2);
  EXPECT_EQ(sum_of(0).item(), 999000u);
}

/// What the compiler is given for the pair in an array of Pair, or of Wide.
template <class Record>
std::string compiled_for() {
  const PointerKernel swapped("Pair *p", "p[i].a = p[i].b", "swapped",
                              {.preamble = "struct Pair { int a; float b; };"});
  const auto records = zeros<Record>({4});
  if (test::kind() == test::Kind::fake) {
    fake::set_compiler({.fails = true, .log = "error: static assertion failed"});
  }
  try {
    swapped(records);
  } catch (const CompileError& e) {
    fake::set_compiler({});
    return e.log().find("static assertion failed") != std::string::npos ? e.source() : e.log();
  }
  return {};
}

TEST_F(TextKernels, PointerOnesCheckTheSizeOfRecords) {
  EXPECT_NE(compiled_for<user::Wide>().find(
                "static_assert(sizeof(Pair) == 16, \"the elements of p have 16 bytes\")"),
            std::string::npos);
  if (test::kind() == test::Kind::cuda) {
    EXPECT_EQ(compiled_for<user::Pair>(), "");
  }
}

TEST_F(TextKernels, PointerOnesRefuseOtherArguments) {
  const PointerKernel scale(arguments, "z[i] = a * x[i]", "scale_checked");
  const auto x = ones<float>({4, 6});
  const DeviceNDArray<const float> readable = x;
  const auto refused = [&](const auto&... a) {
    return message_of<LogicError>([&] { scale(a...); });
  };
  EXPECT_EQ(refused(x, x), "the kernel scale_checked has 3 arguments, not 2");
  EXPECT_EQ(refused(x, 1, 1), "the kernel scale_checked: the argument x is an array");
  EXPECT_EQ(refused(x, x, x), "the kernel scale_checked: the argument a is a number");
  EXPECT_EQ(refused(x, ones<double>({4, 6}), 1),
            "the kernel scale_checked: the elements of x are float, not float64");
  EXPECT_EQ(refused(x, ones<float>({5}), 1),
            "the kernel scale_checked: arrays of 24 and 5 elements");
  EXPECT_EQ(refused(x, x.transpose().copy().transpose(), 1),
            "the kernel scale_checked: the arrays are not all C-contiguous, nor all F-contiguous: "
            "copy() makes them so");
  EXPECT_EQ(
      refused(x, test::misaligned<float>(24), 1),
      "the kernel scale_checked: the elements of an array of float32 are not aligned: copy()");
  EXPECT_EQ(refused(readable, x, 1),
            "the kernel scale_checked: z may be written, and its array is read-only");
}

TEST(PointerKernel, NeedsAPointer) {
  EXPECT_EQ(message_of<LogicError>([] { PointerKernel("float a", "", "f"); }),
            "the kernel f has no pointer among its arguments, \"float a\"");
  EXPECT_EQ(message_of<LogicError>([] { PointerKernel("float *n", "", "f"); }),
            "the kernel f has no argument n");
  EXPECT_THROW(PointerKernel("float *", "", "f"), LogicError);
}

TEST(PointerKernel, IsForGpus) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "of the CPU device";
  const auto x = ones<float>({3});
  EXPECT_THROW(PointerKernel(arguments, "z[i] = a * x[i]")(x, x, 1), LogicError);
}

}  // namespace
}  // namespace quarry
