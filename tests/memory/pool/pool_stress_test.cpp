// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory/source.hpp"

namespace quarry {
namespace {

constexpr int threads = 16, streams = 8;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t operations_by_default = 4'000;
#else
constexpr std::size_t operations_by_default = 30'000;  // QUARRY_STRESS_OPERATIONS for more
#endif
constexpr std::size_t sample = 4096;  // bytes that are copied back from each end

/// Page-locked words that copies land in, and what they must be.
class Landing {
 public:
  explicit Landing(backend::Device& device)
      : device_(device),
        words_(static_cast<std::uint32_t*>(device.allocate_host(slots * 2 * sample, {}))) {}
  ~Landing() { device_.free_host(words_); }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  bool is_full() const { return expected_.size() == slots; }
  /// Queues copies of both ends of the buffer; returns at once.
  void add(const Buffer& buffer, std::uint32_t value, const Stream& stream) {
    const std::size_t bytes = std::min(sample, buffer.bytes());
    std::uint32_t* const to = words_ + expected_.size() * words;
    using enum backend::Direction;  // the CPU's copies to the host wait
    const auto down = device_.info().is_cpu ? device_to_device : device_to_host;
    device_.copy({down, to, buffer.data(), bytes}, stream.state().native, false);
    device_.copy({down, to + words / 2, buffer.data() + buffer.bytes() - bytes, bytes},
                 stream.state().native, false);
    expected_.push_back({value, bytes / 4});
  }
  /// How many of the copies, which must be done, are wrong.
  int check() {
    int wrong = 0;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto is_right = [&](const std::uint32_t* from) {
        const auto is_value = [&](std::uint32_t word) { return word == expected_[i].value; };
        return std::all_of(from, from + expected_[i].count, is_value);
      };
      wrong += !is_right(words_ + i * words) || !is_right(words_ + i * words + words / 2);
    }
    expected_.clear();
    return wrong;
  }

 private:
  static constexpr std::size_t slots = 64, words = 2 * sample / 4;
  struct Expected {
    std::uint32_t value;
    std::size_t count;
  };
  backend::Device& device_;
  std::uint32_t* words_;
  std::vector<Expected> expected_;
};

/// One thread: allocates in random streams, fills, hands on to other streams, reads back, and frees
/// while the work is still queued.
class Worker {
 public:
  Worker(const Pool& pool, const std::vector<Stream>& all, std::uint32_t number)
      : pool_(pool),
        streams_(all),
        number_(number),
        random_(number),
        landing_(*all[0].state().device) {}

  int run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      if (i % 32 == 0) any_stream().add_callback(work_for_a_while);  // so that queues grow
      try {
        if (live_.size() < 20 && random_() % 100 < 60) {
          allocate(static_cast<std::uint32_t>(i));
          continue;
        }
      } catch (const MemoryError&) {  // the other threads have it all
      }
      if (!live_.empty()) release();
    }
    while (!live_.empty()) release();
    land();
    return wrong_;
  }

 private:
  struct Live {
    std::shared_ptr<Buffer> buffer;
    std::uint32_t value;
  };
  static void work_for_a_while(const Stream&) {
    std::atomic<int> spins = 0;
    while (spins.fetch_add(1, std::memory_order_relaxed) < 100'000) {
    }
  }
  const Stream& any_stream() { return streams_[random_() % streams_.size()]; }

  void allocate(std::uint32_t i) {
    // few sizes, so that what is freed is soon wanted again
    const std::size_t bytes = std::size_t{384} << random_() % 13;
    const std::uint32_t value = number_ << 24 | (i & 0xFFFFFF);
    const Stream& home = any_stream();
    live_.push_back({test::get(pool_, bytes, home), value});
    test::fill(*live_.back().buffer, value, home);
  }
  void release() {
    std::swap(live_[random_() % live_.size()], live_.back());
    const Live last = std::move(live_.back());
    live_.pop_back();
    const Stream& home = last.buffer->stream();
    const Stream& reader = random_() % 4 ? home : any_stream();
    if (!(reader == home)) {
      reader.wait_event(home.record());
      last.buffer->used_on(reader);
    }
    landing_.add(*last.buffer, last.value, reader);
    if (landing_.is_full()) land();
  }
  void land() {
    for (const Stream& s : streams_) s.synchronize();
    wrong_ += landing_.check();
  }

  const Pool& pool_;
  const std::vector<Stream>& streams_;
  std::uint32_t number_;
  std::mt19937 random_;
  Landing landing_;
  std::vector<Live> live_;
  int wrong_ = 0;
};

std::size_t operations() {
  const char* const text = std::getenv("QUARRY_STRESS_OPERATIONS");
  return text ? std::stoull(text) : operations_by_default;
}

void stress(const test::Source& source) {
  const Pool pool{Resource(source)};
  {
    std::vector<Stream> all;
    for (int i = 0; i < streams; ++i) all.push_back(stream({.non_blocking = i % 2 == 0}));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> running;
    for (std::uint32_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        try {
          wrong += Worker(pool, all, t + 1).run(operations() / threads / 2);
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
        }
      });
    }
    for (auto& thread : running) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(pool.statistics().active_bytes, 0u);
  }
  Pool(pool).trim();
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(PoolStress, ManyThreadsAndStreamsSeeOnlyTheirOwnBytes) { stress(test::Source()); }

/// Where every allocation has to take from other streams and to give back.
TEST(PoolStress, AlsoWhenMemoryIsShort) {
  const test::Source source(std::size_t{64} << 20);
  stress(source);
  EXPECT_GT(source.refusals(), 0);
}

}  // namespace
}  // namespace quarry
