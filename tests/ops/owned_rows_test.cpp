// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

/// Rows of values that are written where positions say, one call after another: each finds the
/// owner of every place, the last row for it, whatever other calls have left.
namespace quarry {
namespace {

/// What plain loops make of the same calls.
template <class T>
struct Table {
  std::int64_t rows, columns;
  std::vector<T> host;
  DeviceNDArray<T> device;

  Table(std::int64_t rows, std::int64_t columns)
      : rows(rows), columns(columns), host(static_cast<std::size_t>(rows * columns)) {
    device = zeros<T>({rows, columns});
  }
  void write(const std::vector<std::int64_t>& at, const std::vector<T>& values) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t row = at[i] < 0 ? at[i] + rows : at[i];
      std::memcpy(&host[static_cast<std::size_t>(row * columns)],
                  &values[i * static_cast<std::size_t>(columns)],
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
  }
};

struct Call {
  std::vector<std::int64_t> at;
  std::vector<float> values;
};
/// A third of the rows or more, as then rows are written in the order of their places. Some come
/// several times.
Call drawn_call(std::mt19937& random, const Table<float>& table) {
  const std::int64_t count =
      table.rows / 3 + 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(table.rows));
  Call call;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(random() % static_cast<unsigned>(table.rows));
    call.at.push_back(random() % 2 ? row : row - table.rows);
  }
  call.values.resize(static_cast<std::size_t>(count * table.columns));
  for (float& value : call.values) value = static_cast<float>(random() % 1000000);
  return call;
}

TEST(OwnedRows, AreThoseOfTheirOwnCall) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const std::int64_t rows = 2 + static_cast<std::int64_t>(random() % (round % 3 ? 40u : 3000u));
    Table<float> table(rows, 16 + static_cast<std::int64_t>(random() % 30));
    for (int n = 0; n < 6; ++n) {
      const Call call = drawn_call(random, table);
      table.write(call.at, call.values);
      const auto at = to_device(call.at);
      table.device(at) = to_device(call.values).reshape({std::ssize(call.at), table.columns});
    }
    ASSERT_EQ(table.device.ravel().copy_to_host<std::vector<float>>(), table.host)
        << "round " << round;
  }
}

TEST(OwnedRows, AreThoseOfTheirOwnCallInSeveralStreams) {
  std::mt19937 random(6);
  const Stream streams[] = {stream(), stream(), stream()};
  std::vector<Table<float>> tables;
  for (int n = 0; n < 3; ++n) tables.emplace_back(500 + 10 * n, 20);
  Device().synchronize();
  for (int n = 0; n < 40; ++n) {
    const std::size_t k = random() % 3;
    const Call call = drawn_call(random, tables[k]);
    tables[k].write(call.at, call.values);
    const StreamGuard guard(streams[k]);
    const auto at = to_device(call.at);
    tables[k].device.bind(streams[k])(at) =
        to_device(call.values).reshape({std::ssize(call.at), tables[k].columns});
  }
  Device().synchronize();
  for (const auto& table : tables) {
    EXPECT_EQ(table.device.ravel().copy_to_host<std::vector<float>>(), table.host);
  }
}

/// A graph has the numbers of its capture each time it is launched.
TEST(OwnedRows, AreThoseOfTheirOwnLaunchOfAGraph) {
  std::mt19937 random(7);
  Table<float> table(300, 20);
  Call call = drawn_call(random, table);
  const auto at = to_device(call.at);
  const auto values = to_device(call.values).reshape({std::ssize(call.at), table.columns});
  const auto positions = eval(at + 0);
  const auto elements = eval(values + 0.f);
  const Graph graph = capture([&] { table.device(positions) = elements; });
  for (int n = 0; n < 4; ++n) {
    Call next = drawn_call(random, table);
    next.at.resize(call.at.size(), 1), next.values.resize(call.values.size(), 2.f);
    table.write(next.at, next.values);
    positions.assign(to_device(next.at));
    elements.assign(to_device(next.values).reshape(elements.shape()));
    graph();
    ASSERT_EQ(table.device.ravel().copy_to_host<std::vector<float>>(), table.host) << n;
  }
}

}  // namespace
}  // namespace quarry
