// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace quarry::memory {
namespace {

constexpr std::size_t piece_counts[] = {0, 1, 2, 15, 16, 17, 1000};
constexpr std::size_t thread_counts[] = {0, 1, 2, 7, 40};

/// Calls a function with each piece, and counts those that are at work.
class Calls final : public Job {
 public:
  Calls(std::size_t pieces, std::function<void(std::size_t)> f)
      : Job(pieces), f_(std::move(f)), done_(pieces) {}

  int at_work() const { return at_work_; }
  int done(std::size_t piece) const { return done_[piece]; }
  int longest_share() const { return longest_share_; }
  bool failed() const { return has_failed(); }
  /// Whether every piece was done once.
  bool is_complete() const {
    return std::all_of(done_.begin(), done_.end(), [](const auto& times) { return times == 1; });
  }

 private:
  void do_share(Share& share) override {
    int taken = 0;
    ++at_work_;
    struct Leave {
      std::atomic<int>& count;
      ~Leave() { --count; }
    } const leave{at_work_};
    for (std::size_t piece; share.take(piece); ++taken) {
      f_(piece);
      ++done_[piece];
    }
    longest_share_ = std::max<int>(longest_share_, taken);
  }

  const std::function<void(std::size_t)> f_;
  std::vector<std::atomic<int>> done_;
  std::atomic<int> at_work_ = 0, longest_share_ = 0;
};

TEST(Job, DoesEveryPieceOnce) {
  for (const std::size_t pieces : piece_counts) {
    for (const std::size_t threads : thread_counts) {
      Calls job(pieces, [](std::size_t) {});
      EXPECT_EQ(job.has_work(), pieces > 0);
      job.run(threads);
      EXPECT_TRUE(job.is_complete()) << pieces << " pieces by " << threads << " threads";
      EXPECT_FALSE(job.has_work());
      EXPECT_EQ(job.at_work(), 0);
    }
  }
}

TEST(Job, AShareHasNoMorePiecesThanItMay) {
  Calls job(100, [](std::size_t) {});
  job.work(16);
  EXPECT_EQ(job.longest_share(), 16);
  EXPECT_TRUE(job.has_work());
  job.work(1);
  job.work(0);
  EXPECT_EQ(job.done(16), 1);
  EXPECT_EQ(job.done(17), 0);
  job.work(1000);
  EXPECT_TRUE(job.is_complete());
}

TEST(Job, IsDoneByTheCallerAloneWithOneThread) {
  const auto caller = std::this_thread::get_id();
  Calls job(100, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  job.run(1);
  EXPECT_TRUE(job.is_complete());
}

/// Each of the first pieces waits for a thread of its own.
TEST(Job, IsDoneByAsManyThreadsAsItWants) {
  constexpr std::size_t threads = 4;
  std::atomic<std::size_t> here = 0;
  Calls job(threads, [&](std::size_t) {
    ++here;
    while (here < threads) std::this_thread::yield();
  });
  job.run(threads);
  EXPECT_TRUE(job.is_complete());
}

TEST(Job, ThrowsTheFirstErrorAndGivesOutNoMorePieces) {
  Calls job(100, [](std::size_t piece) {
    if (piece == 30) throw std::runtime_error("30");
  });
  try {
    job.run(1);
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "30");
  }
  EXPECT_TRUE(job.failed());
  EXPECT_FALSE(job.has_work());
  for (std::size_t piece = 0; piece < 100; ++piece) EXPECT_EQ(job.done(piece), piece < 30);
}

/// The second error is thrown by a thread that has waited for the first one to be kept.
TEST(Job, KeepsTheFirstErrorOfSeveralThreads) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> here = 0;
    Calls* seen = nullptr;
    Calls job(2, [&](std::size_t piece) {
      ++here;
      while (here < 2) std::this_thread::yield();
      if (piece == 0) throw std::runtime_error("first");
      while (!seen->failed()) std::this_thread::yield();
      throw std::runtime_error("second");
    });
    seen = &job;
    try {
      job.run(2);
      ADD_FAILURE();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "first");
    }
    EXPECT_EQ(job.at_work(), 0) << "all threads have left it";
  }
}

TEST(Job, SeveralAtOnceShareTheThreads) {
  std::vector<std::thread> callers;
  std::atomic<int> complete = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&complete, i] {
      for (int round = 0; round < 50; ++round) {
        const bool fails = (round + i) % 3 == 0;
        Calls job(64, [=](std::size_t piece) {
          if (fails && piece == 40) throw std::runtime_error("");
        });
        try {
          job.run(5);
          complete += !fails && job.is_complete();
        } catch (const std::runtime_error&) {
          complete += fails;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(complete, 8 * 50);
}

}  // namespace
}  // namespace quarry::memory
