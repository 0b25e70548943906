// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

const test::Ints input_shape{3, 4, 5};

ReduceAxes axes_of(unsigned mask) {
  switch (mask) {
    case 1:
      return 0;
    case 2:
      return -2;
    case 3:
      return {0, 1};
    case 4:
      return 2;
    case 5:
      return {-1, 0};
    case 6:
      return {1, 2};
    default:
      return {};
  }
}

template <class R>
void compare(const std::string& key, const R& got, unsigned mask, bool keepdims) {
  using T = typename R::value_type;
  Reader r = find(key);
  const auto id = static_cast<TypeId>(r.value<std::uint8_t>());
  ASSERT_TRUE(DType(id) == dtype_of<T>) << key << ": NumPy gives " << to_string(id);
  test::Ints shape, want_shape;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool reduced = mask >> d & 1;
    if (!reduced) shape.push_back(input_shape[d]);
    if (!reduced || keepdims) want_shape.push_back(reduced ? 1 : input_shape[d]);
  }
  ASSERT_EQ(got.shape(), test::as_shape(want_shape)) << key;
  const auto want = r.array<T>(shape);
  const auto bound = r.array<double>(shape);
  ASSERT_TRUE(r.at_end());
  const auto list = test::read(got);
  expect_close(dtype_of<T>, reinterpret_cast<const std::byte*>(list.data()),
               reinterpret_cast<const std::byte*>(want.data()), want.count(),
               {0, true, bound.data()}, key);
}

/// A reduction of the inputs of one kind, in every layout, over all subsets of the axes.
template <class T, class F>
void check(const std::string& name, const char* inputs, F reduce,
           std::initializer_list<unsigned> masks) {
  const std::string type = name_of<T>() + '/' + inputs;
  if (!has("in/reduce/" + type)) return;
  const auto host = find("in/reduce/" + type).array<T>(input_shape);
  for (const unsigned mask : masks) {
    const std::string key = name + '/' + type + '/' + std::to_string(mask);
    if (!has(key)) continue;
    for (const int layout : layouts()) {
      const auto a = laid_out(host, layout);
      for (const bool keepdims : {false, true}) {
        compare(key, reduce(a, axes_of(mask), keepdims), mask, keepdims);
      }
    }
  }
}

template <class T>
class Reductions : public testing::Test {};
using Types = testing::Types<bool, std::int8_t, std::int32_t, std::uint64_t, Eigen::half, float,
                             double, std::complex<float>>;
TYPED_TEST_SUITE(Reductions, Types);

#define REDUCTION(name, function, ...)                                       \
  TYPED_TEST(Reductions, name) {                                             \
    const auto reduce = [](const auto& a, const auto& axes, bool keepdims) { \
      return quarry::function(a, axes, {.keepdims = keepdims});              \
    };                                                                       \
    for (const char* const inputs : {"moderate", "special"}) {               \
      check<TypeParam>(#name, inputs, reduce, {__VA_ARGS__});                \
    }                                                                        \
  }
REDUCTION(sum, sum, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(prod, prod, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(mean, mean, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(min, min, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(max, max, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(any, any, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(all, all_of, 1, 2, 3, 4, 5, 6, 7)
REDUCTION(argmin, argmin, 1, 2, 4, 7)
REDUCTION(argmax, argmax, 1, 2, 4, 7)
#undef REDUCTION

#define VARIANCE(function)                                                                         \
  TYPED_TEST(Reductions, function) {                                                               \
    for (const int ddof : {0, 1, 4}) {                                                             \
      const auto reduce = [ddof](const auto& a, const auto& axes, bool keepdims) {                 \
        return quarry::function(a, axes, {.ddof = double(ddof), .keepdims = keepdims});            \
      };                                                                                           \
      for (const char* const inputs : {"moderate", "special"}) {                                   \
        check<TypeParam>(#function + std::to_string(ddof), inputs, reduce, {1, 2, 3, 4, 5, 6, 7}); \
      }                                                                                            \
    }                                                                                              \
  }
VARIANCE(var)
VARIANCE(std)
#undef VARIANCE

template <class T>
class Counts : public testing::Test {};
using Integers = testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Counts, Integers);

TYPED_TEST(Counts, bincount) {
  const auto host = find("in/bincount/" + name_of<TypeParam>()).template array<TypeParam>({60});
  for (const int minlength : {0, 1, 150}) {
    const std::string key = "bincount/" + name_of<TypeParam>() + '/' + std::to_string(minlength);
    Reader r = find(key);
    ASSERT_EQ(static_cast<TypeId>(r.value<std::uint8_t>()), TypeId::int64);
    const auto want = r.array<std::int64_t>({r.value<std::uint32_t>()});
    ASSERT_TRUE(r.at_end());
    for (const int layout : layouts()) {
      EXPECT_EQ(test::values(bincount(laid_out(host, layout), minlength)), want.list()) << key;
    }
  }
}

}  // namespace
}  // namespace quarry::conformance
