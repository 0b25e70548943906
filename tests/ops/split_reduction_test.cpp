// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

/// Reductions whose elements many blocks share: their partial results meet in memory of the
/// stream, so that those of several streams, threads and graphs must not.
namespace quarry {
namespace {

struct Case {
  std::int64_t count;
  std::int64_t first;  ///< elements count up from it
  std::int64_t sum() const { return count * first + count * (count - 1) / 2; }
};

std::vector<Case> draw_cases(int count) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> elements(100000, 3000000), first(-1000, 1000);
  std::vector<Case> cases;
  for (int k = 0; k < count; ++k) cases.push_back({elements(random), first(random)});
  return cases;
}

DeviceNDArray<std::int64_t> counting(const Case& of) {
  return eval(arange<std::int64_t>(of.count) + of.first);
}

TEST(SplitReduction, StreamsReduceAtOnce) {
  constexpr int rounds = 20;
  const std::vector<Case> cases = draw_cases(4);
  std::vector<Stream> streams;
  std::vector<DeviceNDArray<std::int64_t>> inputs, sums, last;
  for (const Case& c : cases) {
    streams.emplace_back();
    inputs.push_back(counting(c));
    sums.push_back(zeros<std::int64_t>({rounds}));
    last.push_back(zeros<std::int64_t>({rounds}));
  }
  synchronize();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const auto x = inputs[k].bind(streams[k]);
      sums[k].bind(streams[k])(round) = sum(x);
      last[k].bind(streams[k])(round) = argmax(x);
    }
  }
  for (const Stream& stream : streams) stream.synchronize();
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::vector<std::int64_t> all_sums(rounds, cases[k].sum());
    const std::vector<std::int64_t> all_last(rounds, cases[k].count - 1);
    EXPECT_EQ(sums[k].copy_to_host<std::vector<std::int64_t>>(), all_sums);
    EXPECT_EQ(last[k].copy_to_host<std::vector<std::int64_t>>(), all_last);
  }
}

TEST(SplitReduction, ThreadsReduceInStreamsThatEnd) {
  const std::vector<Case> cases = draw_cases(4);
  std::vector<std::vector<std::int64_t>> found(cases.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    threads.emplace_back([&, k] {
      for (int round = 0; round < 6; ++round) {
        const Stream stream;
        const auto x = counting(cases[k]);
        default_stream(x.device()).synchronize();
        found[k].push_back(sum(x.bind(stream)).item());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 0; k < cases.size(); ++k) {
    EXPECT_EQ(found[k], std::vector<std::int64_t>(6, cases[k].sum()));
  }
}

TEST(SplitReduction, FewOutputsOfManyElementsEach) {
  const auto x = eval(arange<std::int64_t>(3 * 400000).reshape({3, 400000}) % 1000);
  const auto host = x.ravel().copy_to_host<std::vector<std::int64_t>>();
  std::vector<std::int64_t> rows(3), columns(3);
  for (std::size_t k = 0; k < host.size(); ++k) {
    rows[k / 400000] += host[k];
    columns[k % 3] += host[k];
  }
  EXPECT_EQ(eval(sum(x, 1)).copy_to_host<std::vector<std::int64_t>>(), rows);
  EXPECT_EQ(eval(sum(x.reshape({400000, 3}), 0)).copy_to_host<std::vector<std::int64_t>>(),
            columns);
}

/// A graph's launches may be at work beside the stream that it was captured in.
TEST(SplitReduction, GraphsHaveTheSameBits) {
  const auto x = eval(sin(arange<float>(1500000) * 0.37f));
  const auto from_graph = zeros<float>({1}), from_stream = zeros<float>({1});
  const Graph graph = capture([&] { from_graph(0) = sum(x); });
  const Stream other;
  synchronize();
  for (int round = 0; round < 10; ++round) {
    graph(other);
    from_stream(0) = sum(x);
  }
  synchronize();
  const float a = from_graph(0).item(), b = from_stream(0).item();
  EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << a << " " << b;
}

}  // namespace
}  // namespace quarry
