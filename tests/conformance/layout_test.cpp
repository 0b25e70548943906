// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace quarry::conformance {
namespace {

using test::as_shape;
using test::Ints;

constexpr std::int8_t missing = -128;

Bound bound(std::int8_t v) { return v == missing ? Bound(_) : Bound(v); }

std::vector<Index> read_index(Reader& r) {
  std::vector<Index> entries;
  for (auto n = r.value<std::uint8_t>(); n > 0; --n) {
    const auto kind = r.value<std::int8_t>(), start = r.value<std::int8_t>(),
               stop = r.value<std::int8_t>(), step = r.value<std::int8_t>();
    switch (kind) {
      case 0:
        entries.push_back(start);
        break;
      case 1:
        entries.push_back(range(bound(start), bound(stop), step));
        break;
      case 2:
        entries.push_back(newaxis);
        break;
      default:
        entries.push_back(ellipsis);
        break;
    }
  }
  return entries;
}

DeviceNDArray<std::int32_t> view_of(const DeviceNDArray<std::int32_t>& a,
                                    const std::vector<Index>& entries) {
  const View v = index(a.layout(), entries);
  return {v.layout, a.device_pointer() + v.offset, a.buffer()};
}

/// NumPy leaves the strides of unit axes as they fall; they say nothing.
void expect_strides(const DeviceNDArrayBase& got, const Ints& want) {
  ASSERT_EQ(got.ndim(), want.size());
  for (std::size_t d = 0; d < want.size(); ++d) {
    if (got.shape()[d] > 1) {
      EXPECT_EQ(got.strides()[d], want[d]) << "axis " << d;
    }
  }
}

TEST(Layouts, SlicesAreNumPys) {
  int count = 0;
  for (Reader r = find("slices"); !r.at_end(); ++count) {
    const Ints shape = r.dims();
    const auto a = to_device(test::counted<std::int32_t>(shape));
    const auto got = view_of(a, read_index(r));
    const Ints want_shape = r.dims(), want_strides = r.dims();
    ASSERT_EQ(got.shape(), as_shape(want_shape)) << "case " << count;
    if (!got.empty()) expect_strides(got, want_strides);
    ASSERT_EQ(test::values(got), r.array<std::int32_t>(want_shape).list()) << "case " << count;
  }
  EXPECT_EQ(count, 250);
}

TEST(Layouts, ReshapesAreNumPysViewsOrCopies) {
  int count = 0;
  for (Reader r = find("reshapes"); !r.at_end(); ++count) {
    const auto a = to_device(test::counted<std::int32_t>(r.dims()));
    std::vector<Index> steps;
    for (const std::int64_t s : r.dims()) steps.push_back(range(_, _, s));
    const auto sliced = view_of(a, steps);
    const DeviceNDArray<std::int32_t> view(transpose(sliced.layout(), r.dims()),
                                           sliced.device_pointer(), a.buffer());
    const Ints to = r.dims();
    const auto got = view.reshape(as_shape(to), static_cast<Order>(r.value<char>()));
    const bool shares = r.value<std::uint8_t>() != 0;
    const Ints strides = r.dims();
    ASSERT_EQ(got.shape(), as_shape(to));
    ASSERT_EQ(got.buffer() == a.buffer(), shares) << "case " << count;
    if (shares) expect_strides(got, strides);
    ASSERT_EQ(test::values(got), r.array<std::int32_t>(to).list()) << "case " << count;
  }
  EXPECT_EQ(count, 250);
}

TEST(Layouts, TheCasesSayWhatMadeThem) {
  Reader r = find("versions");
  const auto text = r.array<char>({static_cast<std::int64_t>(r.left())}).list();
  RecordProperty("oracle", std::string(text.begin(), text.end()));
  EXPECT_NE(std::string(text.begin(), text.end()).find("NumPy 2."), std::string::npos);
}

}  // namespace
}  // namespace quarry::conformance
