// SPDX-License-Identifier: BSD-3-Clause
// A column added to rows shorter than a vector of the GPU.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace quarry {
namespace {

template <class T>
T element(std::uint64_t i) {
  return static_cast<T>(i * 0x9e3779b97f4a7c15u >> 57);
}

template <class T>
class ShortRows : public ::testing::Test {};
using Types = ::testing::Types<std::int8_t, std::uint16_t, float, double>;
TYPED_TEST_SUITE(ShortRows, Types);

TYPED_TEST(ShortRows, AreAddedToAColumn) {
  using T = TypeParam;
  for (std::int64_t columns = 2; columns <= 17; ++columns) {
    for (const std::int64_t rows : {1, 2, 7, 257, 1003}) {
      SCOPED_TRACE(testing::PrintToString(std::vector{rows, columns}));
      test::Host<T> of_rows({rows, columns}), column({rows, 1});
      for (std::size_t i = 0; i < of_rows.count(); ++i) of_rows[i] = element<T>(i);
      for (std::size_t i = 0; i < column.count(); ++i) column[i] = element<T>(i + 77);
      const auto sum = test::read(DeviceNDArray<T>(to_device(of_rows) + to_device(column)));
      for (std::size_t i = 0; i < sum.count(); ++i) {
        const T other = column[i / static_cast<std::size_t>(columns)];
        ASSERT_EQ(sum[i], static_cast<T>(of_rows[i] + other)) << i;
      }
    }
  }
}

}  // namespace
}  // namespace quarry
