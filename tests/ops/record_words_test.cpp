// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "array/model.hpp"

// take, where and pad of records, against loops over the host's structs.

namespace user {

struct Body {
  double mass;
  float at[3];
  std::int32_t id;
  friend bool operator==(const Body&, const Body&) = default;
};
QUARRY_RECORD(Body, mass, at, id);

/// Nowhere aligned.
struct __attribute__((packed)) Mark {
  char tag;
  double value;
};
inline bool operator==(const Mark& a, const Mark& b) {
  return a.tag == b.tag && static_cast<double>(a.value) == static_cast<double>(b.value);
}

}  // namespace user

namespace quarry {
namespace {

using test::Host;
using test::Ints;
using test::values;
using user::Body;
using user::Mark;

Body number(Body*, int i) {
  const auto x = static_cast<float>(i);
  return {i + 0.5, {x, 2 * x, 3 * x}, i};
}
Mark number(Mark*, int i) { return {static_cast<char>(i), i + 0.25}; }

template <class R>
Host<R> counted(const Ints& shape) {
  Host<R> host(shape);
  for (std::size_t i = 0; i < host.count(); ++i) {
    host[i] = number(static_cast<R*>(nullptr), static_cast<int>(i) + 1);
  }
  return host;
}

template <class R>
class OfRecords : public testing::Test {};
using Both = testing::Types<Body, Mark>;
TYPED_TEST_SUITE(OfRecords, Both);

TYPED_TEST(OfRecords, TakeGivesThoseAtThePositions) {
  using R = TypeParam;
  const Host<R> host = counted<R>({3, 4});
  const auto a = to_device(host);
  const DeviceNDArray<R> columns = take(a, {3, 0, -4}, 1);
  EXPECT_EQ(columns.shape(), (Shape{3, 3}));
  const auto got = values(columns);
  const std::size_t from[] = {3, 0, 0};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(got[3 * i + j], host[4 * i + from[j]]);
  EXPECT_EQ(values(take(a, array({{11, 2}, {2, 0}}))),
            (std::vector{host[11], host[2], host[2], host[0]}));
  EXPECT_EQ(values(take(a.transpose(), 1, -1)), (std::vector{host[4], host[5], host[6], host[7]}));
  EXPECT_EQ(values(take<IndexMode::wrap>(a, {-1, 12}, 0)).back(), host[3]);
  EXPECT_EQ(values(take(a(range(_, _, 2), range(_, _, -1)), 0, 1)),
            (std::vector{host[3], host[11]}));
  EXPECT_EQ(values(take(a(1, 2), 0)), (std::vector{host[6]}));
  EXPECT_THROW(take(a, {4}, 1), IndexError);
  EXPECT_THROW(take(a, {0}, 2), ShapeError);
}

TYPED_TEST(OfRecords, WhereChooses) {
  using R = TypeParam;
  const Host<R> host = counted<R>({2, 3});
  const auto a = to_device(host);
  const auto mask = array({true, false, true});
  const R other = number(static_cast<R*>(nullptr), 99);
  const DeviceNDArray<R> chosen = where(mask, a, a(range(_, _, -1)));
  EXPECT_EQ(values(chosen), (std::vector{host[0], host[4], host[2], host[3], host[1], host[5]}));
  EXPECT_EQ(values(where(mask, a(1), other)), (std::vector{host[3], other, host[5]}));
  EXPECT_EQ(values(where(!mask, other, a(1))), (std::vector{host[3], other, host[5]}));
  EXPECT_EQ(values(where(mask, other, host[0])), (std::vector{other, host[0], other}));
  EXPECT_THROW(where(mask, a.transpose(), other), ShapeError);
}

TYPED_TEST(OfRecords, PadPutsOneAround) {
  using R = TypeParam;
  const Host<R> host = counted<R>({2, 2});
  const auto a = to_device(host);
  const R edge = number(static_cast<R*>(nullptr), 7);
  const auto padded = values(pad(a, {{1, 0}, {0, 2}}, {.constant_values = edge}));
  EXPECT_EQ(padded, (std::vector{edge, edge, edge, edge, host[0], host[1], edge, edge, host[2],
                                 host[3], edge, edge}));
  EXPECT_EQ(values(pad(a(0), 1)), (std::vector{R{}, host[0], host[1], R{}}));
  EXPECT_EQ(values(pad<PadMode::edge>(a(0), {1, 2})),
            (std::vector{host[0], host[0], host[1], host[1], host[1]}));
}

TEST(OfRecordsInAStream, TakeAndWhereRunThere) {
  const Stream s = stream();
  const auto a = to_device(counted<Body>({3})).bind(s);
  EXPECT_EQ(take(a, {1}).stream(), s);
  const auto mask = array({true, false, true}).bind(s);
  EXPECT_EQ(where(mask, a, Body{}).stream(), s);
}

}  // namespace
}  // namespace quarry
