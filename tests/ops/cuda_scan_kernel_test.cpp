// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/scan_kernel.hpp>
#include <quarry/quarry.hpp>

#include <complex>
#include <numeric>

#include <Eigen/Core>

#include "fake_driver/kernels/host_kernel.hpp"
#include "ops/text_kernels.hpp"

namespace quarry {
namespace {

using fake::HostLaunch;
using test::message_of;
using test::Random;
using test::TextKernels;
using test::values;

/// Not commutative: of maps x -> p x + q (mod 16 bits), two in a number, what applies one after the
/// other.
constexpr const char* then_text =
    "(a & 0xffffu) * (b & 0xffffu) & 0xffffu | "
    "((a >> 16) * (b & 0xffffu) + (b >> 16)) << 16";
std::uint32_t then(std::uint32_t a, std::uint32_t b) {
  return ((a & 0xffffu) * (b & 0xffffu) & 0xffffu) | ((a >> 16) * (b & 0xffffu) + (b >> 16)) << 16;
}

constexpr std::size_t tile = 2048;

/// The three kernels by plain loops, from what they are told.
template <class T, class F>
void set_scan_on_host(const std::string& name, const F& combine, bool exclusive, T neutral) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  fake::set_host_kernel(name + "_totals", {{8, 8, 8, 8, 8}, [=](const HostLaunch& launch) {
                                             const auto n = size(launch.value<std::int64_t>(2)),
                                                        rows = size(launch.value<std::int64_t>(3)),
                                                        tiles = size(launch.value<std::int64_t>(4));
                                             const auto in = launch.memory<T>(0, n * rows);
                                             const auto totals = launch.memory<T>(1, rows * tiles);
                                             for (std::size_t k = 0; k < rows * tiles; ++k) {
                                               if (k % tiles == tiles - 1) continue;
                                               const auto* const from =
                                                   &in[k / tiles * n + k % tiles * tile];
                                               T sum = from[0];
                                               for (std::size_t j = 1; j < tile; ++j)
                                                 sum = combine(sum, from[j]);
                                               totals[k] = sum;
                                             }
                                           }});
  fake::set_host_kernel(name + "_prefixes",
                        {{8, 8, 8}, [=](const HostLaunch& launch) {
                           const auto rows = size(launch.value<std::int64_t>(1)),
                                      tiles = size(launch.value<std::int64_t>(2));
                           const auto totals = launch.memory<T>(0, rows * tiles);
                           for (std::size_t k = 0; k < rows * tiles; ++k) {
                             const auto t = k % tiles;
                             if (t == 0 || t == tiles - 1) continue;
                             totals[k] = combine(totals[k - 1], totals[k]);
                           }
                         }});
  fake::set_host_kernel(
      name + "_write",
      {{8, 8, 8, 8, 8, 8}, [=](const HostLaunch& launch) {
         const auto n = size(launch.value<std::int64_t>(3)),
                    rows = size(launch.value<std::int64_t>(4)),
                    tiles = size(launch.value<std::int64_t>(5));
         for (const std::size_t k : {std::size_t{0}, std::size_t{2}}) {
           EXPECT_EQ(launch.value<CUdeviceptr>(k) % alignof(T), 0u) << k;
         }
         const auto in = launch.memory<T>(0, n * rows), out = launch.memory<T>(2, n * rows);
         const auto totals = launch.memory<T>(1, tiles > 1 ? rows * tiles : 0);
         for (std::size_t i = 0; i < n * rows; ++i) {
           const std::size_t j = i % n, t = j / tile, row = i / n;
           static thread_local T sum;  // of what is before the element
           if (j % tile == 0 && t > 0) sum = totals[row * tiles + t - 1];
           const T element = in[i], next = j == 0 ? element : combine(sum, element);
           out[i] = !exclusive ? next : j == 0 ? neutral : sum;
           sum = next;
         }
       }});
}

/// Along the rows of n.
template <class T, class F>
std::vector<T> scanned(const std::vector<T>& x, std::size_t n, const F& combine, bool exclusive,
                       T neutral) {
  std::vector<T> result(x.size());
  T sum{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T next = i % n == 0 ? x[i] : combine(sum, x[i]);
    result[i] = !exclusive ? next : i % n == 0 ? neutral : sum;
    sum = next;
  }
  return result;
}

template <class T>
std::vector<T> some(std::size_t count) {
  std::vector<T> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = static_cast<T>(i * 2654435761u % 65521u | 1);
  return list;
}

TEST_F(TextKernels, ScansAreInTheOrderOfTheElementsWhateverTheLength) {
  const InclusiveScanKernel<std::uint32_t> inclusive(then_text, {.name = "maps"});
  const ExclusiveScanKernel<std::uint32_t> exclusive(then_text, "1", {.name = "maps_before"});
  set_scan_on_host<std::uint32_t>("maps", then, false, 0);
  set_scan_on_host<std::uint32_t>("maps_before", then, true, 1);
  for (const std::size_t n :
       std::initializer_list<std::size_t>{0, 1, 2, 7, 8, 9, 255, 256, 257, 2047, 2048, 2049, 4096,
                                          10000, 524288, 524289, 1100000}) {
    const auto x = some<std::uint32_t>(n);
    const auto a = to_device(x);
    EXPECT_EQ(values(inclusive(a)), scanned<std::uint32_t>(x, n, then, false, 0)) << n;
    EXPECT_EQ(values(exclusive(a)), scanned<std::uint32_t>(x, n, then, true, 1)) << n;
    EXPECT_EQ(values(a), x) << "the argument";
  }
}

/// Rotations by multiples of a quarter, and small integers: exact in every order.
TEST_F(TextKernels, ScansMultiplyComplexNumbersAndAddHalves) {
  using Z = std::complex<double>;
  using Half = Eigen::half;
  const InclusiveScanKernel<Z> turns("a * b", {.name = "turns"});
  const ExclusiveScanKernel<Half> sums("a + b", "0.5f", {.name = "half_sums"});
  const auto product = [](Z a, Z b) { return a * b; };
  const auto sum = [](Half a, Half b) { return a + b; };
  set_scan_on_host<Z>("turns", product, false, {});
  set_scan_on_host<Half>("half_sums", sum, true, Half(0.5f));
  for (const std::size_t n : {1u, 33u, 2049u, 5000u}) {
    std::vector<Z> z(n);
    std::vector<Half> h(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Z quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      z[i] = quarters[i * 2654435761u % 7 % 4];
      h[i] = Half(static_cast<float>(i % 3) - 1);
    }
    EXPECT_EQ(values(turns(to_device(z))), scanned<Z>(z, n, product, false, {})) << n;
    EXPECT_EQ(values(sums(to_device(h))), scanned<Half>(h, n, sum, true, Half(0.5f))) << n;
  }
}

TEST_F(TextKernels, ScansAreAlongTheLastAxisOfAnyLayout) {
  const InclusiveScanKernel<std::int64_t> sums("a + b", {.name = "sums"});
  const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
  set_scan_on_host<std::int64_t>("sums", plus, false, 0);
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    const auto x =
        test::drawn<int>(random, std::size_t(random.between(1, 3)), round % 5 == 0 ? 90 : 9,
                         [](std::size_t i) { return static_cast<int>(i); });
    const auto n = static_cast<std::size_t>(x.model.shape.back());
    if (n == 0) continue;
    EXPECT_EQ(values(sums(x.array)), scanned<std::int64_t>(x.model.at, n, plus, false, 0));
    EXPECT_EQ(values(sums(x.array * 2)), values(eval(sums(x.array) * std::int64_t{2})));
  }
  const auto rows = arange<std::int64_t>(3 * 5000).reshape({3, 5000});
  EXPECT_EQ(values(sums(rows)), scanned<std::int64_t>(values(rows), 5000, plus, false, 0));
}

TEST_F(TextKernels, ScansWriteInPlaceAndIntoAnyOutput) {
  const ExclusiveScanKernel<double> products("a * b", "1.0", {.name = "products"});
  const auto times = [](double a, double b) { return a * b; };
  set_scan_on_host<double>("products", times, true, 1);
  const auto x = to_device(std::vector<double>{2, 3, 4, 5});
  const auto out = zeros<double>({4, 2});
  products(x, out(all, 1));
  EXPECT_EQ(values(out), (std::vector<double>{0, 1, 0, 2, 0, 6, 0, 24}));
  products(x, x);
  EXPECT_EQ(values(x), (std::vector<double>{1, 2, 6, 24}));
  products(x(range(0, 3)), x(range(1, 4)));
  EXPECT_EQ(values(x), (std::vector<double>{1, 1, 1, 2}));
  EXPECT_EQ(message_of<ShapeError>([&] { products(x, out); }),
            "a scan of shape (4,) has no output of shape (4, 2)");
  EXPECT_THROW(products(x(0)), ShapeError);
}

TEST_F(TextKernels, ScansTakeArraysThatAreNotAligned) {
  const InclusiveScanKernel<double> sums("a + b", {.name = "sums_anywhere"});
  set_scan_on_host<double>("sums_anywhere", std::plus<double>(), false, 0);
  const auto x = test::misaligned<double>(3), out = test::misaligned<double>(3);
  x.assign(to_device(std::vector<double>{2, 3, 4}));
  EXPECT_EQ(values(sums(x)), (std::vector<double>{2, 5, 9}));
  sums(x, out);
  EXPECT_EQ(values(out), (std::vector<double>{2, 5, 9}));
  sums(x.copy(), x);
  EXPECT_EQ(values(x), (std::vector<double>{2, 5, 9}));
}

TEST_F(TextKernels, ScansOverlapTheirOutputsInAnyBuffer) {
  const InclusiveScanKernel<int> sums("a + b", {.name = "sums_over"});
  set_scan_on_host<int>("sums_over", std::plus<int>(), false, 0);
  const auto x = to_device(std::vector<int>{1, 2, 3, 4});
  sums(x(range(0, 3)), test::adopted(x)(range(1, 4)));
  EXPECT_EQ(values(x), (std::vector<int>{1, 1, 3, 6}));
  const auto y = to_device(std::vector<int>{1, 2, 3, 4});
  sums(y, test::adopted(y));
  EXPECT_EQ(values(y), (std::vector<int>{1, 3, 6, 10}));
}

TEST_F(TextKernels, ScansOfArraysThatAreDroppedFinish) {
  const InclusiveScanKernel<int> sums("a + b", {.name = "kept_sums"});
  set_scan_on_host<int>("kept_sums", std::plus<int>(), false, 0);
  DeviceNDArray<int> result;
  {
    const Stream other = stream();
    const StreamGuard guard(other);
    const InclusiveScanKernel<int> copy = sums;
    result = copy(ones<int>({5000}));
  }
  EXPECT_EQ(result(-1).item(), 5000);
}

TEST_F(TextKernels, ScansThatDoNotCompileNameTheirOperation) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake compiler reads no operation";
  const InclusiveScanKernel<int> broken("a +\n missing", {.name = "broken_scan"});
  try {
    broken(ones<int>({4}));
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("broken_scan(2): error: identifier \"missing\""), std::string::npos)
        << e.log();
  }
}

TEST(ScanKernel, RefusesBadTexts) {
  EXPECT_EQ(message_of<LogicError>([] { InclusiveScanKernel<int>("a + b", {.name = "a b"}); }),
            "the name of a kernel is a C++ identifier, not \"a b\"");
  EXPECT_EQ(message_of<LogicError>([] { ExclusiveScanKernel<int>("a + b", ""); }),
            "the scan scan has no neutral element");
}

TEST(ScanKernel, IsForGpus) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "of the CPU device";
  const InclusiveScanKernel<int> sums("a + b");
  EXPECT_THROW(sums(ones<int>({3})), LogicError);
  EXPECT_THROW(sums(ones<int>({0})), LogicError);
  const auto x = ones<int>({3});
  EXPECT_THROW(sums(x, x), LogicError);
}

}  // namespace
}  // namespace quarry
