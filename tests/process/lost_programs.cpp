// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "backend/chosen_device.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "process/child.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

/// A kernel fails while it runs and takes its device along. What streams were to call on the host
/// then ends with the error, whoever sees it first.
namespace quarry::test {
namespace {

/// What a program returns that finds something else than it should.
enum Wrong {
  no_error = 3,
  future_without_error,
  was_called,
  was_not_told,
  not_destroyed,
  cpu_is_broken,
  future_is_pending
};

/// Queues a kernel that reads and writes 64 floats at `address`.
void use_memory_at(const void* address, const Stream& s) {
  using namespace kernels;
  using plus_one = map_of<op<add_op, float, in<float, 0>, val<float, 0>>, float, 1, float>;
  const Layout layout{{64}, {4}};
  const auto* const at = static_cast<const std::byte*>(address);
  const runtime::Operand operands[] = {{at, &layout}, {at, &layout}};
  const runtime::Scalar one{};
  runtime::launch_map(program_for<plus_one>::value, operands, &one, s);
}

/// No memory is there.
void break_device_in(const Stream& s) { use_memory_at(reinterpret_cast<void*>(0x1000), s); }

bool has_failed(std::future<Stream>& future) {
  try {
    future.get();
    return false;
  } catch (const LaunchError& e) {
    return dynamic_cast<const DeviceLost*>(&e) != nullptr;
  }
}

bool is_loss(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const DeviceLost&) {
    return true;
  }
  return false;
}

struct Discovery {
  const char* name;
  void (*run)(const Stream& stream, const Event& end, std::future<Stream>& future);
};
constexpr std::array discoveries = {
    Discovery{"LostSeenBySynchronize",
              [](const Stream& s, const Event&, auto&) { s.synchronize(); }},
    Discovery{"LostSeenByTheDevice", [](const Stream&, const Event&, auto&) { synchronize(); }},
    Discovery{"LostSeenByAPoll",
              [](const Stream& s, const Event&, auto&) {
                while (!s.is_done()) {
                }
              }},
    Discovery{"LostSeenByAnEvent", [](const Stream&, const Event& e, auto&) { e.synchronize(); }},
    Discovery{"LostSeenByAPollOfAnEvent",
              [](const Stream&, const Event& e, auto&) {
                while (!e.query()) {
                }
              }},
    Discovery{"LostSeenByANewCallback",
              [](const Stream&, const Event&, auto&) {
                for (;;) stream().add_callback([](const Stream&) {});
              }},
    Discovery{"LostSeenByItem",
              [](const Stream&, const Event&, auto&) { zeros<float>({3})(0).item(); }},
    Discovery{"LostSeenByNobody",
              [](const Stream&, const Event&, std::future<Stream>& future) {
                future.wait();
                throw LaunchError("the future has it");
              }},
};

int end_pending_calls(const Discovery& discovery) {
  if (backend::test::is_on_cpu()) return 0;
  const Stream s = stream(), t = stream({.non_blocking = true});
  use_memory_at(zeros<float>({64}, {.stream = s}).device_pointer(), s);  // loads the kernel
  s.synchronize();
  const auto held = std::make_shared<int>();
  std::atomic<int> calls = 0;
  std::promise<void> open;
  s.add_callback([gate = open.get_future().share()](const Stream&) { gate.wait(); });
  break_device_in(s);
  const Event end = s.record();
  t.wait_event(end);
  std::vector<std::future<Stream>> futures;
  std::vector<std::future<std::exception_ptr>> told;
  for (const Stream& each : {s, t}) {
    each.add_callback([held, &calls](const Stream&) { ++calls; });
    futures.push_back(each.async_done());
    const auto tell = std::make_shared<std::promise<std::exception_ptr>>();
    told.push_back(tell->get_future());
    each.add_callback(
        [tell](const Stream&, const std::exception_ptr& status) { tell->set_value(status); });
  }
  open.set_value();
  try {
    discovery.run(s, end, futures[1]);
    return no_error;
  } catch (const LaunchError&) {
  }
  for (auto& future : futures) {
    if (!has_failed(future)) return future_without_error;
  }
  for (auto& status : told) {
    if (!is_loss(status.get())) return was_not_told;
  }
  try {
    s.synchronize();
    return no_error;
  } catch (const DeviceLost&) {  // every later call says so
  }
  if (calls != 0) return was_called;
  if (held.use_count() != 1) return not_destroyed;
  const DeviceGuard cpu(Device::cpu());
  return sum(ones<float>({1000})).item() == 1000 ? 0 : cpu_is_broken;
}

/// No thread looks at devices with pending calls: whoever throws the error has ended them before.
int end_calls_without_threads() {
  if (kind() != Kind::fake) return 0;  // a driver may want threads at any time
  const Stream s = stream();
  const auto native = static_cast<CUstream>(s.state().native);
  fake::driver_table().LaunchHostFunc(
      native, [](void*) {}, nullptr);  // has its thread now
  s.synchronize();
  if (!allow_threads(0)) return 0;
  fake::set_behaviour({.eagerness = 0, .polls_run_work = false});
  break_device_in(s);
  const Event end = s.record();
  std::future<Stream> future = s.async_done();
  try {
    end.synchronize();
    return no_error;
  } catch (const LaunchError&) {
  }
  using std::future_status;
  if (future.wait_for(std::chrono::seconds(0)) != future_status::ready) return future_is_pending;
  return has_failed(future) ? 0 : future_without_error;
}

template <std::size_t k>
int run_discovery() {
  return end_pending_calls(discoveries[k]);
}

template <std::size_t... k>
std::vector<Program> programs(std::index_sequence<k...>) {
  return {Program{discoveries[k].name, run_discovery<k>, {}, k + 1 == discoveries.size()}...};
}

}  // namespace

std::vector<Program> lost_programs() {
  auto all = programs(std::make_index_sequence<discoveries.size()>());
  all.push_back({"LostWithoutThreads", end_calls_without_threads});
  return all;
}

}  // namespace quarry::test
