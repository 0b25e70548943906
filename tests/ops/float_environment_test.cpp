// SPDX-License-Identifier: BSD-3-Clause
// Results do not depend on the rounding mode, or on flush-to-zero, that the program has set.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <xmmintrin.h>

namespace quarry {
namespace {

/// A setting of the calling thread's floating-point unit, and what it was before.
class Setting {
 public:
  Setting(int rounding, bool flush) : before_(_mm_getcsr()) {
    std::fesetround(rounding);
    constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
    if (flush) _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    std::fesetround(FE_TONEAREST);
    _mm_setcsr(before_);
  }

 private:
  unsigned before_;
};

template <class T>
std::vector<std::uint8_t> bytes_of(const DeviceNDArray<T>& a) {
  const auto host = test::values(a);
  std::vector<std::uint8_t> bytes(host.size() * sizeof(T));
  std::memcpy(bytes.data(), static_cast<const void*>(host.data()), bytes.size());
  return bytes;
}

using Results = std::vector<std::vector<std::uint8_t>>;

/// Arrays large enough for several threads, in dense and strided memory; every third element is
/// subnormal.
template <class T>
DeviceNDArray<T> inputs() {
  std::vector<T> host(1 << 17);
  for (std::size_t i = 0; i < host.size(); ++i) {
    const T x = T(1) / T(i % 1000 + 3);
    host[i] = i % 3 == 0 ? x * std::numeric_limits<T>::min() : x;
  }
  return to_device(host).reshape({1 << 8, 1 << 9});
}

template <class T>
Results results(const DeviceNDArray<T>& a) {
  const auto across = a.transpose();
  Results list;
  list.push_back(bytes_of(eval(a * T(0.3))));
  list.push_back(bytes_of(eval(across / T(3) + a(0, 0))));
  list.push_back(bytes_of(eval(sqrt(a) - exp(-a))));
  list.push_back(bytes_of(eval(a(quarry::all, range(_, _, 3)) * a(quarry::all, range(_, _, 3)))));
  list.push_back(bytes_of(eval(a.template astype<float>())));
  list.push_back(bytes_of(eval(a(0) * T(0.3))));
  list.push_back(bytes_of(eval(sum(a))));
  list.push_back(bytes_of(eval(sum(a, 0))));
  list.push_back(bytes_of(eval(mean(a * T(0.7), 1))));
  list.push_back(bytes_of(eval(max(a(quarry::all, range(_, _, 3)) * T(0.3)))));
  std::ostringstream text;
  text << a(range(0, 2), range(0, 4)) << a(0, 0) << a(1, 3) << eval(a(0, 3) * T(1));
  const std::string printed = text.str();
  list.emplace_back(printed.begin(), printed.end());
  return list;
}

template <class T>
void expect_the_same(const DeviceNDArray<T>& a) {
  const Results want = results(a);
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const bool flush : {false, true}) {
      const Setting setting(rounding, flush);
      const unsigned before = _mm_getcsr() & ~unsigned{_MM_EXCEPT_MASK};
      const Results got = results(a);
      EXPECT_EQ(_mm_getcsr() & ~unsigned{_MM_EXCEPT_MASK}, before) << "the program's setting";
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(got[i] == want[i])
            << "result " << i << ", rounding " << rounding << (flush ? ", flush to zero" : "");
      }
    }
  }
}

TEST(FloatEnvironment, OfTheProgramChangesNoResult) {
  expect_the_same(inputs<float>());
  expect_the_same(inputs<double>());
}

TEST(FloatEnvironment, OfTheProgramChangesNoResultOfAStream) {
  const Stream s = stream();
  const StreamGuard guard(s);
  expect_the_same(inputs<float>());
}

TEST(FloatEnvironment, OfTheThreadThatMakesAStreamIsNotTheStreams) {
  const auto a = inputs<float>();
  const Results want = results(a);
  Results got;
  {
    const Setting setting(FE_UPWARD, true);  // a new thread begins with it
    const Stream s = stream();
    const StreamGuard guard(s);
    got = results(a);
  }
  EXPECT_TRUE(got == want);
}

// Run in a process of its own, whose worker threads begin with the setting.
[[noreturn]] void compare_with_a_plain_loop() {
  std::vector<float> host(1 << 18, std::numeric_limits<float>::min()), want(host.size());
  for (std::size_t i = 0; i < host.size(); ++i) want[i] = host[i] * (1.f / float(i % 7 + 1));
  const Setting setting(FE_UPWARD, true);
  std::vector<float> factors(host.size());
  for (std::size_t i = 0; i < host.size(); ++i) factors[i] = float(i % 7 + 1);
  const auto got = test::values(to_device(host) * (1.f / to_device(factors)));
  std::_Exit(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0 ? 0 : 1);
}

TEST(FloatEnvironmentDeathTest, OfTheProgramsStartIsNotTheWorkers) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(compare_with_a_plain_loop(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace quarry
