// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <quarry/kernels/reduce.hpp>

#include "kernels/emulated_reductions.hpp"

/// Narrow integers, of which a thread takes more than its counters of 32 bits hold.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

/// The reduction of all values by one warp, as a GPU runs it.
template <class Op, class Acc, class Out, class V>
Out reduced_by_a_warp(const std::vector<V>& values) {
  using M = reduction_of<in<V, 0>, Op, Acc, Out, 0, V>;
  constexpr int width = 16 / sizeof(V);
  using Body = reduce_body<M, 1, 1, i32, 1, width, 1>;
  const u64 n = values.size();
  Out result{};
  const u64 words[] = {
      1, n, n,        reinterpret_cast<u64>(&result), reinterpret_cast<u64>(values.data()), 1, n, 0,
      0, 0, sizeof(V)};
  typename Body::param_type p;
  static_assert(sizeof p == sizeof words);
  std::memcpy(&p, words, sizeof p);
  const auto faults =
      launch({{1, 1}, {32, 1}}, 1, [&] { reduce<M, 1, 1, 4, 1, width, 1>(p, nullptr, 0); });
  EXPECT_EQ(faults, std::vector<std::string>{});
  return result;
}

/// So many elements that every thread has far more than most_narrow, the first half of them `a`.
template <class V>
std::vector<V> halves(V a, V b) {
  std::vector<V> values(32 * 5 * most_narrow, b);
  std::fill_n(values.begin(), values.size() / 2, a);
  return values;
}

template <class V>
class cuda_narrow : public ::testing::Test {};
using Narrow = ::testing::Types<i8, u8, i16, u16>;
TYPED_TEST_SUITE(cuda_narrow, Narrow);

TYPED_TEST(cuda_narrow, sums_do_not_wrap) {
  using V = TypeParam;
  for (const V extreme : {limits<V>::lowest(), limits<V>::highest()}) {
    const auto values = halves<V>(extreme, extreme);
    EXPECT_EQ((reduced_by_a_warp<sum_of, i64, i64>(values)), i64{extreme} * std::ssize(values));
    EXPECT_EQ((reduced_by_a_warp<mean_of, double, double>(values)), double(extreme));
  }
}

TYPED_TEST(cuda_narrow, squares_do_not_wrap) {
  using V = TypeParam;
  const auto low = limits<V>::lowest(), high = limits<V>::highest();
  const auto squares = [](const std::vector<V>& values) {
    return reduced_by_a_warp<moments_of, moments<double>, double>(values);
  };
  EXPECT_EQ(squares(halves<V>(high, high)), 0);
  const auto values = halves<V>(low, high);
  const double apart = (double(high) - double(low)) / 2;
  EXPECT_NEAR(squares(values) / (apart * apart * double(values.size())), 1, 1e-14);
}

/// The moments of `a` times the byte `x` and `b` times `y`, as integers of 128 bits have them.
double squares_of(i64 a, int x, i64 b, int y) {
  __extension__ using Wide = __int128;
  const Wide n = Wide{a} + b, sum = Wide{a} * x + Wide{b} * y;
  const Wide squares = Wide{a} * x * x + Wide{b} * y * y;
  return double(static_cast<long double>(n * squares - sum * sum) / static_cast<long double>(n));
}

TEST(cuda_narrow_moments, are_exact_until_the_result) {
  using Moments = exact_moments<moments_of>;
  constexpr std::pair<int, int> pairs[] = {{-128, 127}, {255, 254}, {-1, 0}, {77, 77}, {1, 0}};
  for (const i64 a : {i64{0}, i64{1}, i64{3}, i64{5000}, i64{1} << 23, (i64{1} << 23) + 1,
                      (i64{1} << 31) + 7, (i64{1} << 37) + 11}) {
    for (const i64 b : {i64{1}, i64{2}, i64{999999}, i64{1} << 37}) {
      for (const auto& [x, y] : pairs) {
        const byte_powers powers = Moments::combine({a * x, a * x * x}, {b * y, b * y * y});
        const double expected = squares_of(a, x, b, y);
        EXPECT_NEAR(Moments::moments_from(powers, a + b).squares, expected, 4e-16 * expected)
            << a << " of " << x << ", " << b << " of " << y;
      }
    }
  }
}

/// Whether the host knows how large a kernel's accumulator is.
template <class E, class Op, class Acc, class Out, class A>
bool is_size_known() {
  using M = reduction_of<E, Op, Acc, Out, 0, A>;
  const auto& loops = *static_cast<const reduce_loops*>(program_for<M>::value.loops);
  return loops.kernel_accumulator == sizeof(accumulator_of<M>);
}
TEST(cuda_narrow_moments, have_accumulators_of_the_size_that_the_host_knows) {
  const auto are_known = []<class T>(T) {
    using Cast = cast<double, in<T, 0>>;
    return is_size_known<Cast, moments_of, moments<double>, double, T>() &&
           is_size_known<in<T, 0>, sum_of, i64, i64, T>();
  };
  EXPECT_TRUE(are_known(i8{}));
  EXPECT_TRUE(are_known(u8{}));
  EXPECT_TRUE(are_known(false));
  EXPECT_TRUE(are_known(i16{}));
  EXPECT_TRUE(are_known(i32{}));
  EXPECT_TRUE((is_size_known<cast<double, cast<float, in<i8, 0>>>, moments_of, moments<double>,
                             double, i8>()));
  EXPECT_TRUE((is_size_known<cast<float, in<i8, 0>>, moments_of, moments<float>, float, i8>()));
  EXPECT_TRUE((is_size_known<in<i8, 0>, argmax_of, located<i8>, i64, i8>()));
}

/// Four columns of bytes, of more rows than a counter takes, by one thread.
template <class V>
class cuda_narrow_columns : public ::testing::Test {
 protected:
  static constexpr u64 columns = 4, rows = 9 * most_narrow + 5;
  cuda_narrow_columns() : bytes_(columns * rows) {
    for (u64 i = 0; i < rows; ++i) {
      for (u64 j = 0; j < columns; ++j) bytes_[i * columns + j] = u8(i % (j + 1) == 0 ? 128 : 127);
    }
  }
  i64 value(u64 row, u64 column) const {
    const u8 byte = bytes_[row * columns + column];
    return is_same<V, i8> ? i64{static_cast<i8>(byte)} : i64{byte};
  }
  template <class Op, class Acc, class Out>
  std::vector<Out> reduced() const {
    using M = reduction_of<in<V, 0>, Op, Acc, Out, 0, V>;
    std::vector<Out> out(columns);
    const u64 words[] = {columns,
                         rows,
                         rows,
                         reinterpret_cast<u64>(out.data()),
                         reinterpret_cast<u64>(bytes_.data()),
                         columns,
                         rows,
                         sizeof(Out),
                         0,
                         1,
                         columns};
    typename reduce_body<M, 1, 1, i32, 0, 4, 1>::param_type p;
    static_assert(sizeof p == sizeof words);
    std::memcpy(&p, words, sizeof p);
    const auto faults =
        launch({{1, 1}, {1, 1}}, 1, [&] { reduce<M, 1, 1, 4, 0, 4, 1>(p, nullptr, 0); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    return out;
  }

 private:
  std::vector<u8> bytes_;
};
using Bytes = ::testing::Types<i8, u8>;
TYPED_TEST_SUITE(cuda_narrow_columns, Bytes);

TYPED_TEST(cuda_narrow_columns, squares_do_not_wrap) {
  const auto sums = this->template reduced<sum_of, i64, i64>();
  const auto squares = this->template reduced<moments_of, moments<double>, double>();
  for (u64 j = 0; j < this->columns; ++j) {
    i64 sum = 0;
    for (u64 i = 0; i < this->rows; ++i) sum += this->value(i, j);
    const double mean = double(sum) / double(this->rows);
    double apart = 0;
    for (u64 i = 0; i < this->rows; ++i) {
      const double x = double(this->value(i, j)) - mean;
      apart += x * x;
    }
    EXPECT_EQ(sums[j], sum);
    EXPECT_NEAR(squares[j], apart, 1e-10 * apart);
  }
}

}  // namespace
}  // namespace quarry::test
