// SPDX-License-Identifier: BSD-3-Clause
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "process/child.hpp"

/// A process is forked after the library was used, while other threads are in the midst of it: in
/// the child everything is a LogicError at once, objects end without a word, and the parent does
/// not notice.
namespace quarry::test {
namespace {

enum Wrong { wrong_values = 3, no_error, hung_or_crashed, was_destroyed };

using Array = DeviceNDArray<float>;

/// What a program has when it is forked.
struct Belongings {
  Stream made = stream(), other = stream({.non_blocking = true});
  Event event;
  Array array = full<float>({1000}, 1), of_stream = full<float>({1000}, 1, {.stream = made});
  std::vector<float, PinnedAllocator<float>> pinned =
      std::vector<float, PinnedAllocator<float>>(50);
  DeviceAllocation raw = mem_alloc(1000);
  PitchedAllocation pitched = mem_alloc_pitch(1000, 3);
  CudaArray cuda_array = CudaArray(ArrayDescriptor{.width = 16, .height = 8});
  ManagedNDArray<float> managed = managed_zeros<float>({1000});
  Event recorded = stream().record();  ///< in a stream that has gone
};
std::optional<Belongings> kept;  // ends when the process does, in the child too

template <class F>
bool refuses(F f) {
  try {
    f();
    return false;
  } catch (const LogicError&) {
    return true;
  }
}

bool refuses_everything(Belongings& b) {
  std::vector<float> host(1000);
  return refuses([&] { b.made.synchronize(); }) && refuses([&] { b.made.is_done(); }) &&
         refuses([&] { b.made.record(); }) && refuses([&] { b.other.wait_event(b.event); }) &&
         refuses([&] { b.made.add_callback([](const Stream&) {}); }) &&
         refuses([&] { b.made.async_done(); }) && refuses([&] { b.event.synchronize(); }) &&
         refuses([&] { b.event.query(); }) && refuses([&] { b.event.record(b.made); }) &&
         refuses([&] { b.array.copy_to_host(host); }) && refuses([&] { sum(b.array).item(); }) &&
         refuses([&] { b.array += 1.f; }) && refuses([&] { b.of_stream.fill(2); }) &&
         refuses([&] { Array(b.array + b.of_stream); }) && refuses([] { default_stream(); }) &&
         refuses([] { stream(); }) && refuses([] { Event(); }) &&
         refuses([] { zeros<float>({10}); }) && refuses([] { synchronize(); }) &&
         refuses([&] { b.array.device().synchronize(); }) && refuses([] { mem_alloc(10); }) &&
         refuses([&] { memcpy_dtoh(std::as_writable_bytes(std::span(host)), b.array); });
}

/// In the child, which waits for no thread of the parent.
[[noreturn]] void use_and_exit(Belongings* own) {
  {
    const NoLocks scope;
    if (!refuses_everything(*own)) _exit(no_error);
    delete own;
    kept.reset();
  }
  std::exit(0);  // with the end of what is static
}

int code_of(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(hung_or_crashed);
}

/// Threads that are at work, each in a stream of its own or in the default stream.
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, i] {
        while (!stop_) {
          const Stream s = i % 2 ? stream() : default_stream();
          const auto a = full<float>({40000}, 1, {.stream = s});
          if (sum(a + 1.f).item() != 80000) wrong_ = true;
        }
      });
    }
  }
  bool finish() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return !wrong_;
  }

 private:
  std::atomic<bool> stop_ = false, wrong_ = false;
  std::vector<std::thread> threads_;
};

template <int threads, int forks>
int fork_at_work() {
  kept.emplace();
  auto own = std::make_unique<Belongings>();
  Workers workers(threads);
  for (int i = 0; i < forks; ++i) {
    kept->of_stream += 1.f;
    const pid_t child = fork();
    if (child == 0) use_and_exit(own.release());
    if (const int code = code_of(child)) return code;
  }
  if (!workers.finish()) return wrong_values;
  const bool is_right =
      sum(kept->of_stream).item() == 1000.f * (forks + 1) && sum(own->array).item() == 1000;
  kept.reset();
  return is_right ? 0 : wrong_values;
}

/// What the backend has made is the parent's: to destroy it in the child does nothing.
int fork_and_destroy() {
  backend::Device& device = Device().backend();
  void* const memory = device.allocate(1000);
  void* const managed = device.allocate_managed(1000, Attach::global);
  void* const host = device.allocate_host(1000, {});
  void* const pooled = device.allocate_pooled(1000, nullptr);
  void* const array = device.create_array({.width = 16});
  const backend::Stream s = device.create_stream({});
  const backend::Event e = device.create_event({});
  const backend::Inventory before = device.ledger().inventory();
  const auto destroy = [&] {
    device.free(memory, 1000);
    device.free(managed, 1000);
    device.free_host(host);
    device.free_pooled(pooled, 1000, nullptr);
    device.destroy_array(array);
    device.destroy_stream(s);
    device.destroy_event(e);
  };
  const pid_t child = fork();
  if (child != 0) {
    const int code = code_of(child);
    destroy();
    return code;
  }
  destroy();
  _exit(device.ledger().inventory() == before ? 0 : was_destroyed);
}

/// A child of which nobody asks anything but its end.
int fork_and_return() {
  static const auto array = full<float>({1000}, 1);
  const Stream s = stream();
  auto of_stream = full<float>({1000}, 1, {.stream = s});
  of_stream += 1.f;
  const pid_t child = fork();
  if (child == 0) return 0;
  const int code = code_of(child);
  return sum(of_stream + array).item() == 3000 ? code : static_cast<int>(wrong_values);
}

}  // namespace

std::vector<Program> fork_use_programs() {
  return {{"ForkAndReturn", fork_and_return},
          {"ForkAndDestroy", fork_and_destroy},
          {"ForkOfOneThread", fork_at_work<0, 3>},
          {"ForksOfThreadsAtWork", fork_at_work<4, 40>},
          {"ForksOfThreadsAtWorkInTheBackground", fork_at_work<4, 40>, {}, true}};
}

}  // namespace quarry::test
