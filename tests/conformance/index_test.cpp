// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "array/index_model.hpp"
#include "conformance/cases.hpp"

namespace quarry::conformance {
namespace {

using test::Entry;
using test::Ints;

Entry read_entry(Reader& r) {
  const auto kind = static_cast<Entry::Kind>(r.value<std::uint8_t>());
  if (kind == Entry::Kind::positions || kind == Entry::Kind::mask) {
    const Ints shape = r.dims();
    const auto list = r.array<std::int32_t>(shape).list();
    return {.kind = kind, .shape = shape, .positions = Ints(list.begin(), list.end())};
  }
  const auto bound = [&]() -> Bound {
    constexpr std::int8_t missing = -128;
    const auto v = r.value<std::int8_t>();
    return v == missing ? Bound(_) : Bound(v);
  };
  Entry entry{.kind = kind};
  entry.range = {bound(), bound(), bound()};
  if (kind == Entry::Kind::integer) entry.integer = entry.range.start.value;
  return entry;
}

TEST(Indices, ReadAndWriteWhatNumPyDoes) {
  int count = 0;
  for (Reader r = find("indices"); !r.at_end(); ++count) {
    const auto host = test::counted<std::int32_t>(r.dims());
    std::vector<Entry> entries(r.value<std::uint8_t>());
    for (Entry& entry : entries) entry = read_entry(r);
    const Ints shape = r.dims();
    const auto read = r.array<std::int32_t>(shape).list();
    const auto written = r.array<std::int32_t>(host.shape()).list();
    const auto a = laid_out(host, count % 4);
    test::with_selection<std::int64_t>(a, entries, [&](const auto& selection) {
      ASSERT_EQ(selection().shape(), test::as_shape(shape)) << "case " << count;
      ASSERT_EQ(test::values(selection()), read) << "case " << count;
      auto values = to_device(test::counted<std::int32_t>(shape));
      selection() = -1 - values;
      ASSERT_EQ(test::values(a), written) << "case " << count;
      const auto b = laid_out(host, count % 4);
      ASSERT_EQ(test::values(b(test::listed<std::int16_t>(entries))), read) << "case " << count;
      b(test::listed<std::int8_t>(entries)) = -1 - values;
      ASSERT_EQ(test::values(b), written) << "case " << count;
    });
    const test::Model model = test::selected(host.shape(), entries);
    ASSERT_EQ(model.shape, shape) << "case " << count;
    ASSERT_EQ(model.at, Ints(read.begin(), read.end())) << "case " << count;
  }
  EXPECT_EQ(count, 400);
}

TEST(Masks, ReadWriteAndUpdateWhatNumPyDoes) {
  int count = 0;
  for (Reader r = find("masks"); !r.at_end(); ++count) {
    const auto host = test::counted<std::int32_t>(r.dims());
    std::vector<Entry> entries(r.value<std::uint8_t>());
    for (Entry& entry : entries) entry = read_entry(r);
    const Ints shape = r.dims();
    const auto read = r.array<std::int32_t>(shape).list();
    const auto written = r.array<std::int32_t>(host.shape()).list();
    const auto updated = r.array<std::int32_t>(host.shape()).list();
    const auto added = r.array<std::int32_t>(host.shape()).list();
    const auto index = test::listed<std::int64_t>(entries);
    const auto values = eval(to_device(test::counted<std::int32_t>(shape)) + 100);
    const auto fresh = [&] {
      return host.shape().empty() ? to_device(host) : laid_out(host, count % 4);
    };
    const auto a = fresh(), b = fresh();
    ASSERT_EQ(a(index).shape(), test::as_shape(shape)) << "case " << count;
    ASSERT_EQ(test::values(a(index)), read) << "case " << count;
    a(index) = 99 - values;
    ASSERT_EQ(test::values(a), written) << "case " << count;
    b(index) += values;
    ASSERT_EQ(test::values(b), updated) << "case " << count;
    const auto c = fresh();
    add_at(c(index), values);
    ASSERT_EQ(test::values(c), added) << "case " << count;
    const auto d = eval(fresh().astype<float>().transpose()).copy().transpose();
    add_at(d(index), values.astype<float>());
    ASSERT_EQ(test::values(d.astype<std::int32_t>()), added) << "case " << count;
    const test::Model model = test::selected(host.shape(), entries);
    ASSERT_EQ(model.shape, shape) << "case " << count;
    ASSERT_EQ(model.at, Ints(read.begin(), read.end())) << "case " << count;
  }
  EXPECT_EQ(count, 400);
}

}  // namespace
}  // namespace quarry::conformance
