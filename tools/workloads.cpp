// SPDX-License-Identifier: BSD-3-Clause
#include "tools/workloads.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "backend/backend.hpp"
#include "runtime/stream_state.hpp"
#include "tools/sampling.hpp"

namespace bench {

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

/// Memory of a resource that ends with the scope.
class Blocks {
 public:
  Blocks(const Candidate& candidate, quarry::Stream stream, std::size_t most)
      : resource_(candidate.resource), stream_(std::move(stream)) {
    live_.reserve(most);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    while (!live_.empty()) pop(live_.size() - 1);
  }
  void push(std::size_t bytes) { live_.push_back({resource_.allocate(stream_, bytes), bytes}); }
  /// The last one takes the place of the one that goes.
  void pop(std::size_t index) {
    resource_.deallocate(stream_, live_[index].memory, live_[index].bytes);
    live_[index] = live_.back();
    live_.pop_back();
  }
  /// Ends the block at `index` and puts a new one there.
  void replace(std::size_t index, std::size_t bytes) {
    resource_.deallocate(stream_, live_[index].memory, live_[index].bytes);
    live_[index].memory = resource_.allocate(stream_, bytes);
  }
  void run(const std::vector<Step>& steps) {
    for (const Step& step : steps) step.bytes ? push(step.bytes) : pop(step.victim);
  }
  std::size_t size() const { return live_.size(); }

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  quarry::Resource resource_;
  quarry::Stream stream_;
  std::vector<Block> live_;
};

quarry::Stream home(const Candidate& candidate) {
  return quarry::default_stream(candidate.resource.device());
}

std::vector<quarry::Stream> new_streams(const Candidate& candidate, int count) {
  std::vector<quarry::Stream> streams;
  streams.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    streams.push_back(quarry::stream({.device = candidate.resource.device()}));
  }
  return streams;
}

int batch_of(const Candidate& candidate) { return candidate.slow ? 16 : 2048; }

// --- one stream ----------------------------------------------------------------------------------

double pairs(const quarry::Resource& resource, const quarry::Stream& stream, std::size_t bytes,
             int count) {
  return timed([&] {
           for (int i = 0; i < count; ++i) {
             void* const memory = resource.allocate(stream, bytes);
             resource.deallocate(stream, memory, bytes);
           }
         }) /
         count;
}

Sample pair(const Candidate& candidate, std::size_t bytes) {
  return [resource = candidate.resource, stream = home(candidate), bytes,
          count = batch_of(candidate)] { return pairs(resource, stream, bytes, count); };
}

constexpr std::size_t depth = 64;

Sample last_in_first_out(const Candidate& candidate, std::size_t bytes) {
  const auto blocks = std::make_shared<Blocks>(candidate, home(candidate), depth);
  return [blocks, bytes, rounds = candidate.slow ? 1 : 32] {
    return timed([&] {
             for (int round = 0; round < rounds; ++round) {
               for (std::size_t i = 0; i < depth; ++i) blocks->push(bytes);
               for (std::size_t i = depth; i-- > 0;) blocks->pop(i);
             }
           }) /
           static_cast<double>(rounds) / static_cast<double>(depth);
  };
}

Sample first_in_first_out(const Candidate& candidate, std::size_t bytes) {
  const auto blocks = std::make_shared<Blocks>(candidate, home(candidate), depth);
  for (std::size_t i = 0; i < depth; ++i) blocks->push(bytes);
  return [blocks, bytes, count = static_cast<std::size_t>(batch_of(candidate))] {
    return timed([&] {
             for (std::size_t i = 0; i < count; ++i) blocks->replace(i % depth, bytes);
           }) /
           static_cast<double>(count);
  };
}

Sample random_allocations(const Candidate& candidate, int count, std::size_t most_bytes) {
  return [candidate, steps = random_steps(count, most_bytes)] {
    Blocks blocks(candidate, home(candidate), steps.size());
    return timed([&] { blocks.run(steps); }) / static_cast<double>(steps.size());
  };
}

/// `count` free holes between blocks of 512 bytes that stay, then pairs of 1 KiB.
Sample holes(const Candidate& candidate, int count, std::size_t hole) {
  const auto n = static_cast<std::size_t>(count);
  const auto guards = std::make_shared<Blocks>(candidate, home(candidate), n);
  Blocks freed(candidate, home(candidate), n);
  for (std::size_t i = 0; i < n; ++i) {
    freed.push(hole);
    guards->push(512);
  }
  return [guards, resource = candidate.resource, stream = home(candidate),
          batch = batch_of(candidate)] { return pairs(resource, stream, kib, batch); };
}

// --- streams and threads -------------------------------------------------------------------------

/// Buffers of 64 KiB that are filled and freed at once, in turn in every stream, until all is done.
Sample filled_in_streams(const Candidate& candidate, int count) {
  constexpr std::size_t bytes = 64 * kib;
  return [candidate, streams = new_streams(candidate, count), buffers = candidate.slow ? 16 : 512] {
    const quarry::Resource& resource = candidate.resource;
    const std::uint32_t pattern = 1;
    return timed([&] {
             for (int i = 0; i < buffers; ++i) {
               const auto& stream = streams[static_cast<std::size_t>(i) % streams.size()];
               void* const memory = resource.allocate(stream, bytes);
               resource.device().backend().fill(memory, &pattern, sizeof pattern,
                                                bytes / sizeof pattern, stream.state().native);
               resource.deallocate(stream, memory, bytes);
             }
             for (const auto& stream : streams) stream.synchronize();
           }) /
           buffers;
  };
}

/// All the threads run `work(i)`, starting together. The seconds from the first one's start to the
/// last one's end.
template <class F>
double in_threads(std::size_t count, F work) {
  struct Outcome {
    Clock::time_point begin, end;
    std::exception_ptr error;
  };
  std::barrier start(static_cast<std::ptrdiff_t>(count));
  std::vector<Outcome> outcomes(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (Outcome& outcome : outcomes) {
    threads.emplace_back([&, i = threads.size()] {
      start.arrive_and_wait();
      outcome.begin = Clock::now();
      try {
        work(i);
      } catch (...) {
        outcome.error = std::current_exception();
      }
      outcome.end = Clock::now();
    });
  }
  for (auto& thread : threads) thread.join();
  auto begin = outcomes[0].begin, end = outcomes[0].end;
  for (const Outcome& outcome : outcomes) {
    if (outcome.error) std::rethrow_exception(outcome.error);
    begin = std::min(begin, outcome.begin);
    end = std::max(end, outcome.end);
  }
  return std::chrono::duration<double>(end - begin).count();
}

/// Every thread has a stream and a mix of its own.
Sample threads_and_streams(const Candidate& candidate, int count) {
  std::vector<std::vector<Step>> steps;
  steps.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    steps.push_back(mixed_steps(candidate.slow ? 50 : 1000, static_cast<unsigned>(i) + 1));
  }
  return [candidate, steps, streams = new_streams(candidate, count)] {
    std::vector<std::unique_ptr<Blocks>> blocks;
    blocks.reserve(streams.size());
    for (const auto& stream : streams) {
      blocks.push_back(std::make_unique<Blocks>(candidate, stream, steps[0].size()));
    }
    const auto work = [&](std::size_t i) { blocks[i]->run(steps[i]); };
    return in_threads(streams.size(), work) / static_cast<double>(steps[0].size());
  };
}

/// One thread allocates, another frees, both in the same stream; 64 blocks are on the way at most.
Sample handed_over(const Candidate& candidate) {
  return [resource = candidate.resource, stream = new_streams(candidate, 1)[0],
          count = candidate.slow ? 64 : 8192] {
    std::array<std::atomic<void*>, depth> ring{};
    std::atomic<bool> failed = false;
    const auto produce = [&](std::atomic<void*>& place) {
      while (place.load(std::memory_order_acquire) && !failed) std::this_thread::yield();
      place.store(resource.allocate(stream, 4 * kib), std::memory_order_release);
    };
    const auto consume = [&](std::atomic<void*>& place) {
      void* memory = nullptr;
      while (!(memory = place.exchange(nullptr, std::memory_order_acq_rel)) && !failed) {
        std::this_thread::yield();
      }
      if (memory) resource.deallocate(stream, memory, 4 * kib);
    };
    const double taken = in_threads(2, [&](std::size_t thread) {
      try {
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          thread == 0 ? produce(ring[i % depth]) : consume(ring[i % depth]);
        }
      } catch (...) {
        failed = true;
        throw;
      }
    });
    return taken / count;
  };
}

// --- the list ------------------------------------------------------------------------------------

using List = std::vector<Workload>;

std::string tag(std::size_t bytes) {
  std::string text = size_text(bytes);
  std::erase(text, ' ');
  return text;
}

void add_by_size(List& list, const WorkloadOptions& options) {
  constexpr std::array sizes{std::size_t{256}, kib, 4 * kib, 64 * kib, mib, 32 * mib, 1024 * mib};
  const auto add = [&list](const char* group, std::size_t bytes, const char* before,
                           const char* after, auto prepare) {
    list.push_back({std::string(group) + "_" + tag(bytes), group, before + size_text(bytes) + after,
                    "pair", static_cast<double>(bytes), true,
                    [=](const Candidate& c) { return prepare(c, bytes); }});
  };
  for (const std::size_t bytes : sizes) {
    if (bytes <= options.most_bytes) add("pair", bytes, "allocate and free ", "", pair);
  }
  const std::size_t most = std::min(options.most_bytes, 32 * mib);
  for (const std::size_t bytes : sizes) {
    if (bytes > most || bytes == kib) continue;
    add("lifo", bytes, "64 x ", ", last in first out", last_in_first_out);
  }
  for (const std::size_t bytes : sizes) {
    if (bytes > most || bytes == kib) continue;
    add("fifo", bytes, "64 x ", ", first in first out", first_in_first_out);
  }
}

void add_random(List& list, const WorkloadOptions& options) {
  struct Setting {
    int count;
    std::size_t most;
    bool quick;
  };
  constexpr std::array settings{Setting{1000, mib, true},         Setting{10000, mib, true},
                                Setting{100000, mib, false},      Setting{1000, 64 * mib, true},
                                Setting{10000, 64 * mib, false},  Setting{1000, 256 * mib, false},
                                Setting{1000, 1024 * mib, false}, Setting{1000, 4096 * mib, false}};
  for (const auto [count, most, quick] : settings) {
    if ((options.quick && !quick) || most > 4 * options.most_bytes) continue;
    list.push_back({"random_" + std::to_string(count) + "_" + tag(most), "random",
                    std::to_string(count) + " random, up to " + size_text(most), "call",
                    static_cast<double>(count), count <= 1000,
                    [count = count, most = most](const Candidate& c) {
                      return random_allocations(c, count, most);
                    }});
  }
}

void add_holes(List& list, const WorkloadOptions& options) {
  for (const std::size_t hole : {kib, kib / 2}) {
    for (const int count : {4096, 16384, 65536}) {
      if (options.quick && count == 16384) continue;
      list.push_back({"holes_" + std::to_string(count) + "_" + std::to_string(hole), "holes",
                      "1 KiB beside " + std::to_string(count) + " holes of " +
                          (hole == kib ? "1 KiB" : "512 B"),
                      "pair", static_cast<double>(count), false,
                      [=](const Candidate& c) { return holes(c, count, hole); }});
    }
  }
}

void add_parallel(List& list, const WorkloadOptions& options) {
  for (const int count : {1, 2, 4, 16}) {
    list.push_back({"streams_" + std::to_string(count), "streams",
                    "allocate, fill, free 64 KiB, streams: " + std::to_string(count), "buffer",
                    static_cast<double>(count), true,
                    [=](const Candidate& c) { return filled_in_streams(c, count); }});
  }
  for (const int count : {1, 2, 4, 8, 16}) {
    if (count > options.most_threads) break;
    list.push_back({"threads_" + std::to_string(count), "threads",
                    "256 B to 16 MiB, a stream each, threads: " + std::to_string(count), "call",
                    static_cast<double>(count), true,
                    [=](const Candidate& c) { return threads_and_streams(c, count); }});
  }
  list.push_back(
      {"handover", "handover", "4 KiB, another thread frees", "pair", 2, true, handed_over});
}

/// `next_size()` is asked at every step.
template <class Engine, class Sizes>
std::vector<Step> steps(int count, Engine& engine, Sizes next_size) {
  constexpr std::size_t most_live = 16000 * mib;
  std::uniform_int_distribution<int> chances(0, 99), indices(0, count - 1);
  std::vector<Step> script;
  std::vector<std::size_t> live;
  std::size_t live_bytes = 0;
  int made = 0;
  for (int i = 0; i < 2 * count; ++i) {
    const std::size_t bytes = next_size();
    const bool makes =
        live.empty() || (chances(engine) < 73 && made < count && live_bytes + bytes < most_live);
    if (makes) {
      script.push_back({bytes, 0});
      live.push_back(bytes);
      live_bytes += bytes;
      ++made;
    } else {
      const std::size_t victim = static_cast<std::size_t>(indices(engine)) % live.size();
      script.push_back({0, victim});
      live_bytes -= live[victim];
      live[victim] = live.back();
      live.pop_back();
    }
  }
  return script;
}

}  // namespace

std::vector<Step> random_steps(int count, std::size_t most_bytes) {
  std::default_random_engine engine;
  std::uniform_int_distribution<std::size_t> sizes(1, most_bytes);
  return steps(count, engine, [&] { return sizes(engine); });
}

std::vector<Step> mixed_steps(int count, unsigned seed) {
  std::default_random_engine engine(seed);
  std::uniform_real_distribution<double> exponents(8, 24);
  return steps(count, engine,
               [&] { return static_cast<std::size_t>(std::exp2(exponents(engine))); });
}

std::vector<Workload> allocation_workloads(const WorkloadOptions& options) {
  std::vector<Workload> list;
  add_by_size(list, options);
  add_random(list, options);
  add_holes(list, options);
  add_parallel(list, options);
  return list;
}

std::string size_text(std::size_t bytes) {
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  constexpr std::array units{" B", " KiB", " MiB", " GiB"};
  return std::to_string(bytes) + units[unit];
}

}  // namespace bench
