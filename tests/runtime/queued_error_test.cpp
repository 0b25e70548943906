// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "backend/cpu/stream.hpp"
#include "runtime/stream_state.hpp"

/// Work in a stream of the CPU device fails: whoever asks for values first is told so, once, and no
/// way to the host hands out what was not computed.
namespace quarry {
namespace {

using backend::cpu_backend::Queue;
using backend::cpu_backend::TaskOf;

Queue& queue_of(const Stream& stream) {
  return *backend::cpu_backend::Streams::queue(stream.state().native);
}

template <class F>
void submit(const Stream& stream, F f) {
  queue_of(stream).submit(std::make_unique<TaskOf<F>>(std::move(f)));
}

constexpr std::int64_t count = 3000;
constexpr float untouched = -7;

/// What a program has when an earlier task of `stream` has failed.
struct Scene {
  Stream stream, other;
  DeviceNDArray<float> values;  ///< computed behind the failure
  Event event;                  ///< recorded behind it
  std::vector<float> host = std::vector<float>(count, untouched);
};

std::string path() {
  return (std::filesystem::temp_directory_path() / ("quarry-" + std::to_string(getpid()) + ".npy"))
      .string();
}

struct Way {
  const char* name;
  std::function<void(Scene&)> run;
  bool needs_blocking = false;  ///< goes through a default stream
};

DevicePtr address(const Scene& s) { return DevicePtr(s.values); }
std::span<std::byte> bytes(Scene& s) { return std::as_writable_bytes(std::span(s.host)); }

std::vector<Way> ways() {
  return {
      {"Item", [](Scene& s) { s.values(5).item(); }},
      {"ItemOfASum", [](Scene& s) { sum(s.values).item(); }},
      {"CopyToHost", [](Scene& s) { s.values.copy_to_host(s.host); }},
      {"CopyToHostInTheStream",
       [](Scene& s) {
         s.values.copy_to_host(s.host, s.stream);
         s.stream.synchronize();
       }},
      {"CopyToHostAndAnEvent",
       [](Scene& s) {
         s.values.copy_to_host(s.host, s.stream);
         s.stream.record().synchronize();
       }},
      {"CopyOfAView",
       [](Scene& s) {
         s.values(range(_, _, -2)).copy_to_host(std::span(s.host).first(count / 2));
       }},
      {"Print",
       [](Scene& s) {
         std::ostringstream out;
         out << s.values;
       }},
      {"MemcpyDtoh", [](Scene& s) { memcpy_dtoh(bytes(s), address(s)); }, true},
      {"MemcpyDtohAsync",
       [](Scene& s) {
         memcpy_dtoh_async(bytes(s), address(s), s.stream);
         s.stream.synchronize();
       }},
      {"SaveNpy", [](Scene& s) { save_npy(path(), s.values); }},
      {"EventSynchronize", [](Scene& s) { s.event.synchronize(); }},
      {"StreamSynchronize", [](Scene& s) { s.stream.synchronize(); }},
      {"DeviceSynchronize", [](Scene&) { Device().synchronize(); }},
      {"Synchronize", [](Scene&) { synchronize(); }},
      {"AsyncDone", [](Scene& s) { s.stream.async_done().get(); }},
      {"AutoSynchronize", [](Scene& s) { const auto scope = s.stream.auto_synchronize(); }},
      {"DefaultStreamWork",
       [](Scene&) { const DeviceNDArray<float> y = full<float>({3}, 1.f) + 1.f; }, true},
      {"DefaultStreamSynchronize", [](Scene&) { default_stream().synchronize(); }, true},
      {"DefaultStreamCallback", [](Scene&) { default_stream().add_callback([](const Stream&) {}); },
       true},
      {"StreamThatWaits",
       [](Scene& s) {
         s.other.wait_event(s.event);
         sum(s.values.bind(s.other) + 1.f).item();
       }},
      {"StreamThatWaitsForAStreamThatWaits",
       [](Scene& s) {
         const Stream third = stream({.non_blocking = true});
         s.other.wait_event(s.event);
         third.wait_event(s.other.record());
         third.synchronize();
       }},
      {"EventOfAStreamThatWaits",
       [](Scene& s) {
         s.other.wait_event(s.event);
         s.other.record().synchronize();
       }},
  };
}

enum class Failure { memory, threads, callers_mistake };

void throw_it(Failure failure) {
  if (failure == Failure::memory) throw std::bad_alloc();
  if (failure == Failure::threads) throw RuntimeError("no threads");
  throw LogicError("no meaning");
}

template <class F>
bool throws(Failure failure, F f) {
  try {
    f();
  } catch (const MemoryError&) {
    return failure == Failure::memory;
  } catch (const LogicError&) {
    return failure == Failure::callers_mistake;
  } catch (const RuntimeError&) {
    return failure == Failure::threads;
  }
  return false;
}

using Case = std::tuple<Way, Failure, bool /* non-blocking */, bool /* late */>;

class QueuedError : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!Device().is_cpu()) GTEST_SKIP() << "errors of single kernels are the CPU's alone";
  }
};

/// Held until `open`, so that the failure comes after everything was queued.
struct Gate {
  std::atomic<bool> is_open = false;
  void open() {
    is_open = true;
    is_open.notify_all();
  }
};

TEST_P(QueuedError, IsReportedOnceByEveryWayToTheHost) {
  const auto& [way, failure, non_blocking, late] = GetParam();
  const Stream s = stream({.non_blocking = non_blocking}), t = stream({.non_blocking = true});
  const auto ones = full<float>({count}, 1, {.stream = s});
  s.synchronize();
  const auto gate = std::make_shared<Gate>();
  if (late) submit(s, [gate] { gate->is_open.wait(false); });
  submit(s, [failure = failure] { throw_it(failure); });
  Scene scene{s, t, ones * 2.f, Event()};
  scene.event.record(s);
  if (!late) {
    while (!s.is_done()) {
    }
  }
  std::thread opener([gate] { gate->open(); });
  EXPECT_TRUE(throws(failure, [&] { way.run(scene); }));
  opener.join();
  EXPECT_EQ(scene.host, std::vector<float>(count, untouched)) << "the destination is as it was";
  for (const Stream& each : {t, s}) {  // what another stream has taken over it reports too
    try {
      each.synchronize();
    } catch (const Error&) {
    }
  }
  EXPECT_NO_THROW(synchronize()) << "reported twice";
  const DeviceNDArray<float> again = ones * 2.f;
  EXPECT_EQ(sum(again).item(), 2.f * count);
  std::filesystem::remove(path());
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const auto& [way, failure, non_blocking, late] = info.param;
  return std::string(way.name) + std::to_string(static_cast<int>(failure)) +
         (non_blocking ? "NonBlocking" : "") + (late ? "Late" : "");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Way& way : ways()) {
    for (const Failure f : {Failure::memory, Failure::threads, Failure::callers_mistake}) {
      for (const bool late : {false, true}) {
        all.emplace_back(way, f, false, late);
        if (!way.needs_blocking) all.emplace_back(way, f, true, late);
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, QueuedError, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace quarry
