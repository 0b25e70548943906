// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include "message_of.hpp"

/// Positions so many that a GPU goes on while it checks them: what is thrown, by what, and that
/// nothing is written then.
namespace quarry {
namespace {

using test::message_of;
using Positions = std::vector<std::int64_t>;

template <class T>
std::vector<T> listed(const DeviceNDArray<T>& array) {
  return array.ravel().template copy_to_host<std::vector<T>>();
}

class QueuedChecks : public testing::TestWithParam<std::int64_t> {
 protected:
  static constexpr std::int64_t extent = 700;
  std::int64_t count() const { return GetParam(); }
  /// Inside, some of them negative, but for one that is at `place`.
  Positions positions(std::optional<std::int64_t> place = {}, std::int64_t outside = extent) {
    Positions all(static_cast<std::size_t>(count()));
    std::uniform_int_distribution<std::int64_t> inside(-extent, extent - 1);
    for (std::int64_t& position : all) position = inside(random_);
    if (place) all[static_cast<std::size_t>(*place)] = outside;
    return all;
  }
  std::vector<std::int64_t> places() const { return {0, count() / 2, count() - 1}; }
  std::string refusal(std::int64_t outside = extent, int axis = 0) const {
    return "position " + std::to_string(outside) + " is outside of axis " + std::to_string(axis) +
           " of extent " + std::to_string(extent);
  }

  std::mt19937_64 random_{std::random_device{}()};
};
INSTANTIATE_TEST_SUITE_P(Count, QueuedChecks, testing::Values(1023, 1024, 20000));

/// Into arrays that are there, of all layouts and kernels: vectors, elements, rows that begin
/// anywhere, an output that is not aligned, more axes.
template <class T>
void check_that_nothing_is_written(const DeviceNDArray<T>& out, const auto& write,
                                   const std::string& refusal) {
  const std::vector<T> before = listed(out);
  EXPECT_EQ(message_of<IndexError>([&] { write(out); }), refusal);
  EXPECT_TRUE(listed(out) == before);
}

TEST_P(QueuedChecks, WriteNothingWhereTheyFindAPosition) {
  for (const std::int64_t place : places()) {
    const auto at = to_device(positions(place, place % 2 == 0 ? extent : -extent - 1));
    const std::string message = refusal(place % 2 == 0 ? extent : -extent - 1);
    for (const std::int64_t columns : {1, 3, 16, 37}) {
      const auto from = arange<float>(extent * columns).reshape({extent, columns});
      const auto all = full<float>({count() * columns * 2 + 1}, -1);
      const Shape shape{count(), columns};
      const auto whole = all(range(0, count() * columns)).reshape(shape);
      const auto behind = all(range(1, count() * columns + 1)).reshape(shape);
      const auto every_second = all(range(0, 2 * count() * columns, 2)).reshape(shape);
      const auto turned = full<float>({columns, count()}, -1).transpose();
      for (const auto& out : {whole, behind, every_second, turned}) {
        check_that_nothing_is_written(
            out, [&](const auto& to) { to.assign(from(at)); }, message);
        check_that_nothing_is_written(
            out, [&](const auto& to) { to.assign(from(at) * 2.f + to); }, message);
        check_that_nothing_is_written(
            out, [&](const auto& to) { to += from(at); }, message);
      }
      const auto bytes = zeros<std::int8_t>({extent, columns});
      check_that_nothing_is_written(
          full<std::int8_t>({count(), columns}, -1),
          [&](const auto& to) { to.assign(take(bytes, at, 0)); }, message);
    }
  }
}

TEST_P(QueuedChecks, WriteNothingAtPositions) {
  for (const std::int64_t place : places()) {
    const auto at = to_device(positions(place));
    for (const std::int64_t columns : {1, 3, 40}) {
      const auto values = arange<float>(count() * columns).reshape({count(), columns});
      const auto to = arange<float>(extent * columns).reshape({extent, columns});
      const auto check = [&](const auto& write) {
        check_that_nothing_is_written(to, write, refusal());
      };
      check([&](const auto& x) { x(at) = 1.f; });
      check([&](const auto& x) { x(at) = values; });
      check([&](const auto& x) { x(at) += values; });
      check([&](const auto& x) { add_at(x(at), values); });
      check([&](const auto& x) { maximum_at(x(at), 1e9f); });
    }
    const auto line = arange<double>(extent);
    check_that_nothing_is_written(
        line, [&](const auto& x) { put(x, at, arange<double>(count())); }, refusal());
    const auto pairs = zeros<std::complex<float>>({extent});
    check_that_nothing_is_written(
        pairs, [&](const auto& x) { add_at(x(at), std::complex<float>(1, 2)); }, refusal());
  }
}

/// Rows of places that several values are for, written again and again: the last value stays.
TEST_P(QueuedChecks, OfRowsThatAreWritten) {
  constexpr std::int64_t columns = 40;
  const Positions all = positions();
  const auto x = zeros<float>({extent, columns});
  const auto good = to_device(all), bad = to_device(positions(count() / 2));
  std::vector<float> expected(static_cast<std::size_t>(extent * columns));
  for (int k = 1; k <= 3; ++k) {
    const auto values =
        eval(arange<float>(count() * columns).reshape({count(), columns}) * float(k));
    x(good) = values;
    for (std::int64_t i = 0; i < count() * columns; ++i) {
      const std::int64_t at = all[static_cast<std::size_t>(i / columns)];
      const std::int64_t row = at < 0 ? at + extent : at;
      expected[static_cast<std::size_t>(row * columns + i % columns)] = float(i) * float(k);
    }
    ASSERT_TRUE(listed(x) == expected) << k;
    check_that_nothing_is_written(
        x, [&](const auto& to) { to(bad) = values; }, refusal());
  }
}

/// Whatever computes the elements.
TEST_P(QueuedChecks, ThrowFromEveryEvaluation) {
  const auto a = arange<float>(extent);
  const auto bad = to_device(positions(count() - 1)), good = to_device(positions());
  const auto throws = [&](const auto& f) { EXPECT_EQ(message_of<IndexError>(f), refusal()); };
  throws([&] { const DeviceNDArray<float> b = a(bad); });
  throws([&] { eval(a(good) + a(bad)); });
  throws([&] { eval(a(bad) + a(good)); });
  throws([&] { eval(a(good), a(bad) * 2.f); });
  throws([&] { eval(where(a(bad) > 3.f, 1.f, 0.f)); });
  throws([&] { sum(a(bad)); });
  throws([&] { var(a(bad)); });
  throws([&] { argmax(a(bad)); });
  throws([&] { softmax(a(bad).reshape({1, -1}), 1); });
  throws([&] { take(a, bad).sum(); });
  throws([&] { eval(take(a, bad)(range(0, 3))); });
  throws([&] { eval(take_along_axis(a, bad, 0)); });
  throws([&] { DeviceNDArray<float> b = a(a(bad).astype<std::int64_t>()); });
  throws([&] { eval(select(a(bad), good > 0)); });
  throws([&] { a(range(0, 5)).assign(a(bad)(range(0, 5))); });
  throws([&] { bincount(a(bad).astype<std::int64_t>()); });
}

/// The axis that comes first, and all axes of one index.
TEST_P(QueuedChecks, NameTheAxis) {
  const auto a = zeros<float>({3, extent, extent});
  const auto bad = to_device(positions(5)), worse = to_device(positions(7, -extent - 3)),
             good = to_device(positions());
  EXPECT_EQ(message_of<IndexError>([&] { eval(a(0, good, bad)); }), refusal(extent, 2));
  EXPECT_EQ(message_of<IndexError>([&] { eval(a(0, worse, bad)); }), refusal(-extent - 3, 1));
  EXPECT_EQ(message_of<IndexError>([&] { a(0, good, bad) = 1.f; }), refusal(extent, 2));
  const std::vector<IndexEntry> list{good, 1, bad};
  const auto turned = a.transpose({1, 0, 2});
  EXPECT_EQ(message_of<IndexError>([&] { eval(turned(list)); }), refusal(extent, 2));
  EXPECT_EQ(message_of<IndexError>([&] { turned(list) = 1.f; }), refusal(extent, 2));
  EXPECT_EQ(sum(a).item(), 0);
}

/// As often as it is evaluated; and where it is not, nothing is thrown, then or later.
TEST_P(QueuedChecks, ThrowWhenever) {
  const auto a = arange<float>(extent);
  const auto bad = to_device(positions(1)), good = to_device(positions());
  const bool at_once = Device().is_cpu() || count() < 1024;
  const auto make = [&] { return a(bad); };
  if (at_once) {
    EXPECT_EQ(message_of<IndexError>([&] { make(); }), refusal());
  } else {
    const auto element = make();
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(message_of<IndexError>([&] { eval(element); }), refusal());
    }
    { const auto unused = make(); }
    current_stream().synchronize();
    const auto overwritten = make();
    bad.assign(good);
    if (detail::write_count() > 0) {
      EXPECT_THROW(eval(overwritten), LogicError);
    } else {  // not the checked mode: positions are those of the evaluation
      EXPECT_TRUE(listed(eval(overwritten)) == listed(eval(a(good))));
    }
  }
  Positions wanted = good.copy_to_host<Positions>();
  const auto got = listed(eval(a(good)));
  for (std::size_t k = 0; k < got.size(); ++k) {
    const std::int64_t p = wanted[k] < 0 ? wanted[k] + extent : wanted[k];
    ASSERT_EQ(got[k], static_cast<float>(p)) << k;
  }
}

/// An expression of one stream that another one evaluates, and many at a time.
TEST_P(QueuedChecks, AreOfAnyStream) {
  const Stream other;
  const auto a = arange<float>(extent);
  const auto bad = to_device(positions(count() - 1)), good = to_device(positions());
  const auto out = full<float>({count()}, -1).bind(other);
  std::vector<DeviceNDArray<float>> results;
  for (int k = 0; k < 8; ++k) {
    check_that_nothing_is_written(
        out, [&](const auto& to) { to.assign(a(bad)); }, refusal());
    results.push_back(eval(a(good)).bind(other));
  }
  const auto first = listed(results[0]);
  for (const auto& result : results) EXPECT_TRUE(listed(result) == first);
  out.assign(a(good));
  EXPECT_TRUE(listed(out) == first);
}

/// Rows of all lengths, alignments and element sizes, of a matrix and of the middle of three axes.
template <class T>
void check_rows(const Positions& good, const Positions& bad, const std::string& refusal,
                std::int64_t extent, std::int64_t columns) {
  std::vector<T> values(static_cast<std::size_t>(2 * extent * columns + 1));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int>(i * 31 % 97));
  const auto all = to_device(values)(range(1, _));
  const auto tables = all.reshape({2, extent, columns});
  const auto at = to_device(good), outside = to_device(bad);
  const auto n = std::ssize(good);
  for (const bool is_table : {true, false}) {
    const std::int64_t count = is_table ? 1 : 2;
    const DeviceNDArray<T> rows = is_table ? eval(tables(0)(at)) : eval(take(tables, at, 1));
    const std::vector<T> got = listed(rows);
    ASSERT_EQ(std::ssize(got), count * n * columns);
    for (std::int64_t i = 0; i < std::ssize(got); ++i) {
      const std::int64_t p = good[static_cast<std::size_t>(i / columns % n)];
      const std::int64_t row = i / columns / n * extent + (p < 0 ? p + extent : p);
      const auto from = static_cast<std::size_t>(1 + row * columns + i % columns);
      ASSERT_EQ(got[static_cast<std::size_t>(i)], values[from]) << i;
    }
  }
  EXPECT_EQ(message_of<IndexError>([&] { const DeviceNDArray<T> rows = tables(0)(outside); }),
            refusal);
  EXPECT_EQ(message_of<IndexError>([&] { eval(tables(0)(outside)(range(_, _, 2))); }), refusal);
  EXPECT_EQ(message_of<IndexError>([&] { eval(tables(0)(outside).T()); }), refusal);
}
TEST_P(QueuedChecks, OfRows) {
  for (const std::int64_t place : places()) {
    const Positions good = positions(), bad = positions(place);
    for (const std::int64_t columns : {1, 7, 16, 45, 64}) {
      check_rows<std::int8_t>(good, bad, refusal(), extent, columns);
      check_rows<std::int16_t>(good, bad, refusal(), extent, columns);
      check_rows<float>(good, bad, refusal(), extent, columns);
    }
    check_rows<double>(good, bad, refusal(), extent, 9);
    check_rows<std::complex<double>>(good, bad, refusal(), extent, 3);
  }
}

/// Positions of one stream, rows of another one, and an expression that both evaluate.
TEST_P(QueuedChecks, OfRowsInOtherStreams) {
  const Stream other;
  const auto a = arange<float>(extent * 24).reshape({extent, 24});
  const auto bad = to_device(positions(count() / 2)), good = to_device(positions());
  current_stream().synchronize();
  const auto here = a.bind(other);
  const auto out = zeros<float>({count(), 24});
  const std::vector<float> expected = listed(eval(a(good)));
  for (int k = 0; k < 8; ++k) {
    EXPECT_EQ(message_of<IndexError>([&] { eval(here(bad)); }), refusal());
    EXPECT_TRUE(listed(eval(here(good))) == expected);
    const auto picked = here(good);
    out.assign(picked);
    EXPECT_TRUE(listed(out) == expected);
    EXPECT_TRUE(listed(eval(picked)) == expected);
    out.fill(0);
    current_stream().synchronize();
    out.bind(other).assign(picked);
    EXPECT_TRUE(listed(out.bind(other)) == expected);
  }
}

/// An expression that is made before, and evaluated while a graph is captured.
TEST_P(QueuedChecks, AreMadeBeforeAGraph) {
  const auto a = arange<float>(extent * 24).reshape({extent, 24});
  const auto good = to_device(positions());
  const auto out = zeros<float>({count(), 24});
  const std::vector<float> expected = listed(eval(a(good)));
  const auto picked = a(good);
  const Graph graph = capture([&] { out.assign(picked); });
  graph.launch();
  EXPECT_TRUE(listed(out) == expected);
}

/// Of any integers; unsigned ones are never negative.
TEST_P(QueuedChecks, OfRowsAtIntegersOfAnyType) {
  const auto a = arange<float>(extent * 24).reshape({extent, 24});
  const auto expect = [&]<class I>(I) {
    std::vector<I> at(static_cast<std::size_t>(count()), static_cast<I>(100));
    EXPECT_EQ(eval(a(to_device(at)))(-1, 3).item(), 2403.f);
    at[at.size() / 3] = std::numeric_limits<I>::max();
    const auto outside = std::to_string(at[at.size() / 3]);
    EXPECT_EQ(message_of<IndexError>([&] { eval(a(range(0, 120))(to_device(at))); }),
              "position " + outside + " is outside of axis 0 of extent 120");
  };
  expect(std::int8_t{});
  expect(std::uint8_t{});
  expect(std::int16_t{});
  expect(std::int32_t{});
  expect(std::uint32_t{});
  expect(std::uint64_t{});
}

/// More bytes than a cache has: elements are read and written by parts.
TEST(QueuedChecksOfParts, WriteNothing) {
  constexpr std::int64_t places = 20000003, count = (std::int64_t{1} << 22) + 5;
  const auto at = eval(arange<std::int64_t>(count) * std::int64_t{7919} % places);
  at(count - 2) = places;
  const auto a = zeros<std::int32_t>({places}), out = full<std::int32_t>({count}, -1);
  const std::string refusal = "position 20000003 is outside of axis 0 of extent 20000003";
  EXPECT_EQ(message_of<IndexError>([&] { out.assign(a(at)); }), refusal);
  EXPECT_EQ(message_of<IndexError>([&] { a(at) = 1; }), refusal);
  EXPECT_EQ(message_of<IndexError>([&] { a(at) = out; }), refusal);
  EXPECT_EQ(sum(out).item(), -count);
  EXPECT_EQ(sum(a).item(), 0);
}

}  // namespace
}  // namespace quarry
