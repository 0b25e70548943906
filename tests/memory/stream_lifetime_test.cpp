// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/stream_state.hpp"
#if __has_include(<cuda.h>)
#include "fake_driver/fake_driver.hpp"
#endif
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

bool is_fake() { return test::kind() == test::Kind::fake; }
int rounds() { return test::kind() == test::Kind::cpu ? 20'000 : 3'000; }

/// Streams that have been seen, and how many of them anybody still remembers.
class Seen {
 public:
  void add(const Stream& s) { states_.push_back(s.state().weak_from_this()); }
  std::size_t remembered() const {
    std::size_t count = 0;
    for (const auto& state : states_) count += !state.expired();
    return count;
  }
  std::size_t size() const { return states_.size(); }

 private:
  std::vector<std::weak_ptr<detail::StreamState>> states_;
};

/// Runs `use` in many streams, each of which goes when its round is over.
void expect_flat(const std::function<void(const Stream&)>& use, bool waits) {
  Seen seen;
  std::size_t most = 0;
#if __has_include(<cuda.h>)
  const std::size_t streams_before = is_fake() ? fake::live().streams : 0;
#endif
  for (int k = 0; k < rounds(); ++k) {
    {
      const Stream s = stream();
      seen.add(s);
      use(s);
      if (waits) s.synchronize();
    }
    if (k % 100 == 99) {
      if (!waits) synchronize();
      most = std::max(most, seen.remembered());
    }
  }
  EXPECT_LE(most, waits ? 16u : 256u);
  synchronize();
  use(default_stream());
#if __has_include(<cuda.h>)
  if (is_fake()) {
    EXPECT_LE(fake::live().streams, streams_before + 1);
  }
#endif
}

TEST(StreamLifetime, ALongLivedArrayForgetsTheStreamsThatHaveReadIt) {
  const auto w = ones<float>({1000});
  DeviceNDArray<float> y;
  const auto use = [&](const Stream& s) {
    const StreamGuard guard(s);
    y = w * 2.f;
  };
  expect_flat(use, true);
  expect_flat(use, false);
  EXPECT_LE(w.buffer()->other_streams().size(), 1u);
  EXPECT_EQ(sum(y).item(), 2000.f);
}

TEST(StreamLifetime, ALongLivedDestinationForgetsTheStreamsThatHaveWrittenIt) {
  const auto w = zeros<float>({1000});
  expect_flat(
      [&](const Stream& s) {
        const StreamGuard guard(s);
        w(all) = 3.f;
      },
      true);
  EXPECT_EQ(sum(w).item(), 3000.f);
}

TEST(StreamLifetime, LongLivedHostMemoryForgetsTheStreamsOfItsCopies) {
  std::vector<float> plain(1000, 2.f);
  const RegisteredHostMemory registered(plain.data(), 4000);
  const auto to = zeros<float>({1000});
  PinnedAllocator<float> allocator;
  float* const pinned = allocator.allocate(1000);
  std::fill_n(pinned, 1000, 1.f);
  const auto mapped = mapped_array<float>({1000});
  std::fill_n(mapped.host_pointer(), 1000, 3.f);
  const auto upload = [&](std::span<const float> from) {
    expect_flat([&](const Stream& s) { to.copy_to_device(from, s); }, true);
  };
  upload({pinned, 1000});
  EXPECT_EQ(sum(to).item(), 1000.f);
  upload(plain);
  EXPECT_EQ(sum(to).item(), 2000.f);
  upload(mapped.host_span());
  EXPECT_EQ(sum(to).item(), 3000.f);
  allocator.deallocate(pinned, 1000);
}

TEST(StreamLifetime, ALongLivedArrayForgetsTheStreamsOfThreads) {
  const auto w = ones<float>({1000});
  Seen seen;
  std::size_t most = 0;
  for (int k = 0; k < rounds() / 10; ++k) {
    std::thread([&] {
      const Stream s = per_thread_default_stream();
      if (!s.device().is_cpu()) seen.add(s);
      const StreamGuard guard(s);
      const DeviceNDArray<float> y = w * 2.f;
      EXPECT_EQ(sum(y).item(), 2000.f);
    }).join();
    most = std::max(most, seen.remembered());
  }
  EXPECT_LE(most, 16u);
}

TEST(StreamLifetime, ManyStreamsAtOnceAreAllRemembered) {
  const auto w = ones<float>({100});
  std::vector<Stream> streams;
  DeviceNDArray<float> y;
  for (int k = 0; k < 300; ++k) {
    streams.push_back(stream());
    for (int again = 0; again < 3; ++again) w.buffer()->used_on(streams[streams.size() / 2]);
    w.buffer()->used_on(streams.back());
  }
  std::vector<Stream> known = w.buffer()->other_streams();
  EXPECT_EQ(known.size(), streams.size());
  for (const Stream& s : streams) EXPECT_EQ(std::count(known.begin(), known.end(), s), 1);
}

// --- memory is not used again before a stream that has ended is done with it

/// Holds a stream until it is told to go on, without a handle of it (test::Gate's callback has
/// one).
class BareGate {
 public:
  explicit BareGate(const Stream& s) {
    auto state = std::make_unique<std::shared_future<void>>(open_.get_future().share());
    const auto wait = [](void* p) {
      std::unique_ptr<std::shared_future<void>>(static_cast<std::shared_future<void>*>(p))->wait();
    };
    s.state().device->host_call(s.state().native, wait, state.release());
  }
  void open() { open_.set_value(); }

 private:
  std::promise<void> open_;
};

struct HeldUse {
  const char* name;
  /// Queues a copy of `a` into `to` behind a gate, in a stream that is gone when it returns; the
  /// event comes after the copy.
  std::function<std::unique_ptr<BareGate>(const DeviceNDArray<int>& a, const DeviceNDArray<int>& to,
                                          Event& done)>
      queue;
};

std::unique_ptr<BareGate> copy_behind_a_gate(const Stream& s, const DeviceNDArray<int>& a,
                                             const DeviceNDArray<int>& to, Event& done) {
  auto gate = std::make_unique<BareGate>(s);
  to.copy_to_device(a, s);
  done = s.record();
  return gate;
}

std::vector<HeldUse> held_uses() {
  std::vector<HeldUse> all;
  all.push_back({"stream", [](const auto& a, const auto& to, Event& done) {
                   return copy_behind_a_gate(stream(), a, to, done);
                 }});
  if (get_current_device().is_cpu()) return all;
  all.push_back({"external", [](const auto& a, const auto& to, Event& done) {
                   backend::Device& device = get_current_device().backend();
                   const backend::Stream made =
                       device.create_stream(backend::StreamOrder::independent);
                   auto gate = copy_behind_a_gate(
                       external_stream(reinterpret_cast<std::uintptr_t>(made)), a, to, done);
                   device.destroy_stream(made);
                   return gate;
                 }});
  all.push_back({"per thread", [](const auto& a, const auto& to, Event& done) {
                   std::unique_ptr<BareGate> gate;
                   std::thread([&] {
                     gate = copy_behind_a_gate(per_thread_default_stream(), a, to, done);
                   }).join();
                   return gate;
                 }});
  return all;
}

void expect_kept_until_done(const HeldUse& use) {
  const Stream home = stream({.non_blocking = true});
  const auto to = zeros<int>({5000}, {.stream = home});
  home.synchronize();
  Event done;
  std::unique_ptr<BareGate> gate;
  {
    const auto a = full<int>({5000}, 1, {.stream = home});
    home.synchronize();
    gate = use.queue(a, to, done);
  }
  EXPECT_FALSE(done.query()) << use.name;
  std::vector<DeviceNDArray<int>> later;
  for (int k = 0; k < 4; ++k) later.push_back(full<int>({5000}, 2, {.stream = home}));
  home.synchronize();
  gate->open();
  done.synchronize();
  EXPECT_EQ(sum(to).item(), 5000) << use.name;
}

TEST(StreamLifetime, MemoryIsNotUsedAgainBeforeAStreamThatIsGoneIsDoneWithIt) {
  const int seeds = is_fake() ? 20 : 3;
  for (int seed = 1; seed <= seeds; ++seed) {
#if __has_include(<cuda.h>)
    if (is_fake()) {
      fake::Behaviour behaviour = fake::behaviour();
      behaviour.seed = static_cast<std::uint64_t>(seed);
      fake::set_behaviour(behaviour);
    }
#endif
    for (const HeldUse& use : held_uses()) expect_kept_until_done(use);
  }
  synchronize();
  stream().synchronize();
  trim_pool(get_current_device());
}

}  // namespace
}  // namespace quarry
