// SPDX-License-Identifier: BSD-3-Clause
#include "array/index_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

struct Pair {
  float a, b;
};
QUARRY_RECORD(Pair, a, b);

/// Positions, rows and masks of more elements than one thread takes, against plain loops.
namespace quarry {
namespace {

template <class T>
std::vector<T> listed(const DeviceNDArray<T>& array) {
  return array.ravel().template copy_to_host<std::vector<T>>();
}

constexpr std::int64_t many = 150000, rows = 97;

/// Positions without order, of which each of the `rows` is there many times.
std::int64_t position(std::int64_t k) { return k * 7919 % 1000003 % rows; }

std::vector<std::int64_t> positions() {
  std::vector<std::int64_t> all(many);
  for (std::int64_t k = 0; k < many; ++k) all[static_cast<std::size_t>(k)] = position(k);
  return all;
}

/// The number of the last position of each row.
std::vector<std::int64_t> last_of_rows() {
  std::vector<std::int64_t> last(rows, -1);
  for (std::int64_t k = 0; k < many; ++k) last[static_cast<std::size_t>(position(k))] = k;
  return last;
}

TEST(ManyPositions, TheLastValueStays) {
  const auto a = full<std::int64_t>({rows}, -1);
  a(to_device(positions())) = arange<std::int64_t>(many);
  EXPECT_EQ(listed(a), last_of_rows());
}

TEST(ManyPositions, TheLastRowStaysInAnyLayout) {
  constexpr std::int64_t columns = 5;
  const auto index = to_device(positions());
  const auto values = arange<std::int64_t>(many * columns);
  const auto last = last_of_rows();
  for (const bool is_transposed : {false, true}) {
    const auto table = is_transposed ? full<std::int64_t>({columns, rows}, -1).transpose()
                                     : full<std::int64_t>({rows, columns}, -1);
    const auto given = is_transposed ? values.reshape({columns, many}).transpose()
                                     : values.reshape({many, columns});
    table(index) = given;
    const auto got = listed(table);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t k = last[static_cast<std::size_t>(r)],
                           want = is_transposed ? c * many + k : k * columns + c;
        ASSERT_EQ(got[static_cast<std::size_t>(r * columns + c)], want) << r << ", " << c;
      }
    }
  }
}

/// Among many places, in no order: one of them is that of the first value again, if at all.
TEST(ManyPositions, OneAmongManyPlacesIsRepeated) {
  constexpr std::int64_t places = 70001, count = 60000;
  for (const std::int64_t repeated : {std::int64_t{-1}, std::int64_t{1}, count - 1}) {
    for (const bool is_negative : {false, true}) {
      std::vector<std::int64_t> index(count);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t place = (k == repeated ? 0 : k) * 7919 % places;
        index[static_cast<std::size_t>(k)] = is_negative && k % 3 == 1 ? place - places : place;
      }
      const auto at = to_device(index);
      const auto a = full<std::int64_t>({places}, -1), b = arange<std::int64_t>(places);
      const auto c = full<std::int16_t>({places, 3}, -1);
      const auto d = full<float>({7, places / 7 + 1}, -1);
      a(at) = arange<std::int64_t>(count);
      b(at) += arange<std::int64_t>(count);
      c(at) =
          eval(astype<std::int16_t>(arange<std::int64_t>(count * 3) % 1000)).reshape({count, 3});
      const auto place = where(at < 0, at + places, at);
      d(place % 7, floor_divide(place, 7)) = arange<float>(count);
      std::vector<std::int64_t> want_a(places, -1), want_b(places);
      std::vector<std::int16_t> want_c(places * 3, -1);
      std::vector<float> want_d(static_cast<std::size_t>(d.size()), -1);
      for (std::size_t i = 0; i < want_b.size(); ++i) want_b[i] = static_cast<std::int64_t>(i);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t p = index[static_cast<std::size_t>(k)];
        const auto i = static_cast<std::size_t>(p < 0 ? p + places : p);
        want_a[i] = k, want_b[i] = static_cast<std::int64_t>(i) + k;
        for (std::size_t j = 0; j < 3; ++j) {
          want_c[3 * i + j] =
              static_cast<std::int16_t>((3 * k + static_cast<std::int64_t>(j)) % 1000);
        }
        want_d[i % 7 * (places / 7 + 1) + i / 7] = static_cast<float>(k);
      }
      EXPECT_EQ(listed(a), want_a) << repeated;
      EXPECT_EQ(listed(b), want_b) << repeated;
      EXPECT_EQ(listed(c), want_c) << repeated;
      EXPECT_EQ(listed(d), want_d) << repeated;
    }
  }
}

/// More bytes than a cache has: they are written part by part.
TEST(ManyPositions, ALargeArrayIsWrittenByParts) {
  constexpr std::int64_t places = 20000003, count = (std::int64_t{1} << 22) + 5;
  for (const bool is_repeated : {false, true}) {
    for (const bool is_reversed : {false, true}) {
      const auto number = arange<std::int64_t>(count);
      const auto at =
          eval((is_repeated ? number % (count - 3) : eval(number)) * std::int64_t{7919} % places);
      const auto a = full<std::int32_t>({places}, -1);
      (is_reversed ? a(range(_, _, -1)) : a)(at) = arange<std::int32_t>(count);
      std::vector<std::int32_t> want(places, -1);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t place = (is_repeated ? k % (count - 3) : k) * 7919 % places;
        want[static_cast<std::size_t>(is_reversed ? places - 1 - place : place)] =
            static_cast<std::int32_t>(k);
      }
      EXPECT_TRUE(listed(a) == want) << is_repeated << is_reversed;
    }
  }
}

/// More bytes than a cache has: they are read part by part, in expressions too, and the places of
/// some of the positions are next to each other.
TEST(ManyPositions, ALargeArrayIsReadByParts) {
  constexpr std::int64_t rows = 5, columns = 4000037, places = rows * columns,
                         count = (std::int64_t{1} << 22) + 7;
  const auto place = [](std::int64_t k) { return k / 10000 % 3 == 0 ? k : k * 7919 % places; };
  const auto number = arange<std::int64_t>(count);
  const auto at = eval(where(floor_divide(number, 10000) % 3 == 0, number, number * 7919 % places));
  const auto x = eval(astype<float>(arange<std::int64_t>(places) % 8388593));
  const auto y = arange<float>(count);
  const auto value = [](std::int64_t p) { return static_cast<float>(p % 8388593); };
  const auto a = listed(eval(x(at)));
  const auto b = listed(eval(x(range(_, _, -1))(at - places) * 2 + y));
  const auto c = listed(eval(x.reshape({rows, columns})(floor_divide(at, columns), at % columns)));
  const auto d = listed(eval(take<IndexMode::wrap>(x.astype<double>(), at + 3 * places)));
  const auto e = listed(eval(x(at) + x(at)));
  for (std::int64_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const std::int64_t p = place(k);
    ASSERT_EQ(a[i], value(p)) << k;
    ASSERT_EQ(b[i], value(places - 1 - p) * 2 + static_cast<float>(k)) << k;
    ASSERT_EQ(c[i], value(p)) << k;
    ASSERT_EQ(d[i], static_cast<double>(value(p))) << k;
    ASSERT_EQ(e[i], value(p) + value(p)) << k;
  }
}

TEST(ManyPositions, ALargeArrayIsReadAndWrittenByPartsInAGraph) {
  constexpr std::int64_t places = 20000003, count = (std::int64_t{1} << 22) + 9;
  const auto at = eval(arange<std::int64_t>(count) * 7919 % places);
  const auto x = arange<std::int32_t>(places), y = full<std::int32_t>({places}, -1);
  const auto out = zeros<std::int32_t>({count});
  const auto step = capture([&] {
    out(all) = x(at) * 2;
    y(at) = out;
    x(at) += 1;
  });
  step();
  step();
  std::vector<std::int32_t> want_y(places, -1);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t p = k * 7919 % places;
    want_y[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(p + 1) * 2;
  }
  EXPECT_TRUE(listed(y) == want_y);
  EXPECT_EQ(x(7919).item(), 7921);
}

/// Rows of 64 bytes and more along an axis between two others, some of them at one place.
template <class T>
void check_rows_at_places(unsigned seed) {
  test::Random random(seed);
  const auto drawn = [&](std::int64_t low, std::int64_t high) { return random.between(low, high); };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t front = drawn(1, 3), places = drawn(1, 40), count = drawn(1, 40);
    const std::int64_t row = 64 / std::int64_t{sizeof(T)} + drawn(0, 40);
    std::vector<std::int64_t> at;
    for (std::int64_t k = 0; k < count; ++k) at.push_back(drawn(-places, places - 1));
    const auto table = [&] {
      switch (drawn(0, 3)) {
        case 0:
          return zeros<T>({front, places, row});
        case 1:
          return zeros<T>({front, places, row + 3})(all, all, range(2, row + 2));
        case 2:
          return zeros<T>({row, front, places}).transpose(1, 2, 0);
        default:
          return zeros<T>({front, places, row})(all, range(_, _, -1));
      }
    }();
    const Shape shapes[] = {{front, count, row}, {count, row}, {1, count, 1}, {count, 2 * row}};
    const std::int64_t kind = drawn(0, 3);
    const Shape& shape = shapes[kind];
    const auto number = arange<std::int64_t>(element_count(shape)) % std::int64_t{101};
    auto values = eval(number.template astype<T>()).reshape(shape);
    if (kind == 3) values = values(all, range(_, _, 2));
    std::vector<T> want(static_cast<std::size_t>(front * places * row));
    for (std::int64_t f = 0; f < front; ++f) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t p = at[static_cast<std::size_t>(k)];
        for (std::int64_t c = 0; c < row; ++c) {
          const std::int64_t of_kind[] = {(f * count + k) * row + c, k * row + c, k,
                                          2 * (k * row + c)};
          want[static_cast<std::size_t>((f * places + (p < 0 ? p + places : p)) * row + c)] =
              static_cast<T>(of_kind[kind] % 101);
        }
      }
    }
    table(all, at) = values;
    ASSERT_EQ(listed(table), want) << "round " << round << " of seed " << seed;
  }
}

TEST(ManyPositions, TheLastRowStaysBetweenOtherAxes) {
  check_rows_at_places<std::int8_t>(1);
  check_rows_at_places<std::int16_t>(2);
  check_rows_at_places<float>(3);
  check_rows_at_places<double>(4);
}

TEST(ManyPositions, InPlaceAllElementsAreReadBefore) {
  const auto a = arange<double>(rows);
  a(to_device(positions())) += 0.5;
  const auto got = listed(a);
  for (std::size_t r = 0; r < got.size(); ++r) ASSERT_EQ(got[r], static_cast<double>(r) + 0.5);
}

TEST(ManyPositions, RowsAreReadInAnyLayout) {
  constexpr std::int64_t columns = 6;
  const auto index = to_device(positions());
  const auto table = arange<std::int32_t>(rows * columns).reshape({rows, columns});
  const auto check = [&](const auto& got, std::int64_t width, const auto& want) {
    const auto host = listed(eval(got));
    ASSERT_EQ(static_cast<std::int64_t>(host.size()), many * width);
    for (std::int64_t i = 0; i < many * width; ++i) {
      ASSERT_EQ(host[static_cast<std::size_t>(i)], want(position(i / width), i % width)) << i;
    }
  };
  check(table(index), columns, [](auto r, auto c) { return r * columns + c; });
  check(table(all, range(_, _, 2))(index), 3, [](auto r, auto c) { return r * columns + 2 * c; });
  check(table(all, range(_, _, -1))(index), columns,
        [](auto r, auto c) { return r * columns + 5 - c; });
  check(table(index).astype<double>(), columns, [](auto r, auto c) { return r * columns + c; });
  const auto turned = eval(table.transpose()).transpose();
  check(turned(index), columns, [](auto r, auto c) { return r * columns + c; });
}

/// Pairs of 4-byte alignment, whose rows begin at odd multiples of that.
TEST(ManyPositions, RowsOfRecordsAreReadAtAnyAlignment) {
  constexpr std::int64_t pairs = 20, pitch = 2 * pairs + 1;
  const auto numbers = arange<float>(rows * pitch);
  const Layout layout{{rows, pairs}, {pitch * 4, 8}};
  const DeviceNDArray<Pair> table(layout, numbers.device_pointer() + 4, numbers.buffer());
  const auto got = listed(eval(table(to_device(positions()))));
  for (std::int64_t i = 0; i < many * pairs; ++i) {
    const std::int64_t at = position(i / pairs) * pitch + 1 + i % pairs * 2;
    const Pair pair = got[static_cast<std::size_t>(i)];
    ASSERT_TRUE(pair.a == static_cast<float>(at) && pair.b == static_cast<float>(at + 1)) << i;
  }
}

/// Any byte but 0 is true, and counts once.
TEST(ManyPositions, MasksOfForeignBytes) {
  for (const std::int64_t n : {1, 7, 8, 9, 63, 64, 65, 1000}) {
    const auto bytes = arange<std::int64_t>(n).astype<std::uint8_t>() * std::uint8_t{37};
    const auto mask = eval(bytes).view<bool>();
    const auto host = listed(eval(bytes));
    std::vector<std::int64_t> want;
    for (std::int64_t i = 0; i < n; ++i) {
      if (host[static_cast<std::size_t>(i)] != 0) want.push_back(i);
    }
    const auto values = arange<std::int64_t>(n);
    EXPECT_EQ(listed(eval(values(mask))), want) << n;
    EXPECT_EQ(count_nonzero(mask).item(), static_cast<std::int64_t>(want.size())) << n;
  }
}

TEST(ManyPositions, MasksOfRowsReadAndWriteThem) {
  constexpr std::int64_t columns = 7, n = 20000;
  const auto number = [](std::int64_t r) { return r * 7919 % 10007; };
  const auto mask =
      eval(arange<std::int64_t>(n) * std::int64_t{7919} % std::int64_t{10007} < std::int64_t{5000});
  const auto table = arange<std::int32_t>(n * columns).reshape({n, columns});
  const auto kept = listed(eval(table(mask)));
  const auto added = listed(eval(eval(table + 1)(mask)));
  table(mask) = -1;
  const auto written = listed(table);
  std::size_t next = 0;
  for (std::int64_t i = 0; i < n * columns; ++i) {
    const bool is_kept = number(i / columns) < 5000;
    ASSERT_EQ(written[static_cast<std::size_t>(i)], is_kept ? -1 : i);
    if (!is_kept) continue;
    ASSERT_EQ(kept[next], i);
    ASSERT_EQ(added[next++], i + 1);
  }
  EXPECT_EQ(next, kept.size());
}

}  // namespace
}  // namespace quarry
