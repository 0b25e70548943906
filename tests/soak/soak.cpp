// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <quarry/quarry.hpp>

#include "soak/drawn_program.hpp"
#include "soak/measurement.hpp"
#include "soak/stream_rounds.hpp"

/// Runs drawn programs, or rounds in new streams, on several threads for as long as it is told to,
/// and fails if a value is wrong or if it takes more and more memory or time. QUARRY_TEST_DEVICE
/// names the device.
namespace quarry::soak {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double minutes = 1, interval_seconds = 10;
  int threads = 1;
  std::uint64_t seed = std::random_device()();
  std::optional<std::uint64_t> replay;
  std::string streams;  ///< the name of a stream_round, instead of drawn programs
};

template <class T>
bool parse(const char* text, T& value) {
  const char* const end = text + std::strlen(text);
  return std::from_chars(text, end, value).ptr == end;
}

std::optional<Options> parse(int count, char** arguments) {
  Options options;
  std::uint64_t replay = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    const char* const value = i + 1 < count ? arguments[++i] : "";
    const bool known = name == "--minutes"    ? parse(value, options.minutes)
                       : name == "--interval" ? parse(value, options.interval_seconds)
                       : name == "--threads"  ? parse(value, options.threads)
                       : name == "--seed"     ? parse(value, options.seed)
                       : name == "--replay"   ? parse(value, replay)
                       : name == "--streams"  ? !(options.streams = value).empty()
                                              : false;
    if (!known) return std::nullopt;
    if (name == "--replay") options.replay = replay;
  }
  return options;
}

/// Rounds of all threads; each has a seed of its own. The first failure ends them all.
class Rounds {
 public:
  explicit Rounds(const Options& options)
      : options_(options),
        round_(options.streams.empty() ? drawn_programs() : stream_round(options.streams)) {}

  /// On new threads, which end when the time has come.
  void run_until(Clock::time_point end) {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i) threads.emplace_back([this, end] { work(end); });
    for (std::thread& thread : threads) thread.join();
    load_kernels_again();
  }
  std::int64_t done() const { return next_; }
  const std::string& failure() const { return failure_; }

 private:
  static Round drawn_programs() {
    return [lasting = std::make_shared<Lasting>()](std::uint64_t seed) {
      run_drawn_program(seed, *lasting);
    };
  }
  void work(Clock::time_point end) {
    while (Clock::now() < end && !has_failed_) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(next_++);
      guarded(seed, [&] { round_(seed); });
    }
  }
  /// The second GPU forgets its kernels and takes them from the cache on disk.
  void load_kernels_again() {
    if (gpus.size() < 2) return;
    guarded(options_.seed, [&] {
      const DeviceGuard guard(Device::cuda(1));
      Device::cuda(1).reset();
      run_drawn_program(options_.seed, Lasting());
    });
  }
  void guarded(std::uint64_t seed, const std::function<void()>& round) {
    try {
      round();
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex_);
      if (!has_failed_.exchange(true)) failure_ = fmt::format("--replay {}: {}", seed, e.what());
    }
  }

  const Options& options_;
  const Round round_;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::string failure_;
};

int fail(const std::string& text) {
  fmt::print("FAILED  {}\n", text);
  return 1;
}

int run(const Options& options) {
  fmt::print("{}, seed {}, {} threads, {} minutes\n", to_string(Device()), options.seed,
             options.threads, options.minutes);
  Rounds rounds(options);
  std::vector<Measurement> all;
  const auto seconds = [](double s) { return std::chrono::duration<double>(s); };
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds(60 * options.minutes));
  while (Clock::now() < end) {
    const std::int64_t before = rounds.done();
    const double cpu_before = cpu_seconds();
    const auto stop = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         seconds(options.interval_seconds));
    rounds.run_until(std::min(stop, end));
    const double used = cpu_seconds() - cpu_before;
    const std::string live = live_counts();  // first: it gives back what can be
    all.push_back({rounds.done() - before, used, allocated_bytes(), resident_bytes(), live});
    fmt::print("{}\n", to_string(all.back()));
    std::fflush(stdout);
    if (!rounds.failure().empty()) return fail(rounds.failure());
  }
  const std::string grown = growth(all);
  if (!grown.empty()) return fail(grown);
  fmt::print("passed  {} rounds\n", rounds.done());
  return 0;
}

int replay(std::uint64_t seed) {
  run_drawn_program(seed, Lasting());
  fmt::print("passed\n");
  return 0;
}

}  // namespace
}  // namespace quarry::soak

int main(int count, char** arguments) {
  const auto options = quarry::soak::parse(count, arguments);
  if (!options) {
    std::fputs(
        "Usage: soak [--minutes N] [--interval SECONDS] [--threads N] [--seed N]\n"
        "            [--replay SEED] [--streams array|page_locked|thread]\n",
        stderr);
    return 2;
  }
  try {
    return options->replay ? quarry::soak::replay(*options->replay) : quarry::soak::run(*options);
  } catch (const std::exception& e) {
    return quarry::soak::fail(e.what());
  }
}
