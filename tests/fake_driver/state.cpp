// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/state.hpp"

#include "fake_driver/streams/capture.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace quarry::fake {

State& state() {
  static State& all = *new State;
  return all;
}

void add_fault(const std::string& text) {
  const Guard lock(state().fault_mutex);
  state().faults.push_back(text);
}

ContextStack& context_stack() {
  thread_local constinit ContextStack stack;
  return stack;
}

Context* current_context() {
  const ContextStack& stack = context_stack();
  return stack.depth > 0 ? stack.contexts[stack.depth - 1] : nullptr;
}

CUresult entered_device(CUdevice device) {
  State& s = state();
  if (!s.is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  const bool is_there = device >= 0 && static_cast<std::size_t>(device) < s.contexts.size();
  return is_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

int current_device() { return current_context()->device; }

namespace {

std::atomic<bool> has_ended = false;
std::thread::id ended_by;

/// Nobody is left who would take a fault.
CUresult refuse_late_call() {
  if (ended_by == std::this_thread::get_id()) {
    std::fputs("fake driver: a call after its end\n", stderr);
    std::_Exit(98);
  }
  return CUDA_ERROR_DEINITIALIZED;
}

}  // namespace

void end_with_the_program() {
  [[maybe_unused]] static const int registered = std::atexit([] {
    ended_by = std::this_thread::get_id();
    has_ended = true;
  });
}

CUresult check_running() { return has_ended ? refuse_late_call() : CUDA_SUCCESS; }

CUresult enter() {
  if (const CUresult result = check_running()) return result;
  if (Scheduler::in_host_function()) {
    add_fault("a host function called the driver");
    return CUDA_ERROR_NOT_PERMITTED;
  }
  const Context* const context = current_context();
  {
    const Guard lock(state().mutex);
    if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->is_active) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return state().scheduler.sticky(context->device);
}

bool is_live(CUcontext context) {
  const Guard lock(state().mutex);
  return std::ranges::any_of(state().contexts, [&](const auto& known) {
    return known.get() == reinterpret_cast<Context*>(context) && known->is_active;
  });
}

bool can_reach(int device, int peer) {
  const Guard lock(state().mutex);
  return state().machine.has_peers && device != peer;
}

std::shared_ptr<Queue> find_stream(CUstream stream) {
  State& s = state();
  if (!stream || stream == CU_STREAM_LEGACY) return current_context()->legacy;
  if (stream == CU_STREAM_PER_THREAD) {
    auto& queue = s.per_thread[{current_device(), std::this_thread::get_id()}];
    if (!queue) queue = s.scheduler.make(current_device(), StreamKind::blocking);
    return queue;
  }
  const auto found = s.streams.find(stream);
  return found == s.streams.end() ? nullptr : found->second;
}

CUresult enqueue(CUstream stream, Operation operation) {
  std::shared_ptr<Queue> queue;
  {
    const Guard lock(state().mutex);
    queue = find_stream(stream);
    if (!queue) return CUDA_ERROR_INVALID_HANDLE;
    if (queue->device != current_device()) return CUDA_ERROR_INVALID_CONTEXT;
    if (operation.kernel) state().last_beginning = operation.kernel->begins;
    if (!queue->unfinished.add(operation.kernel.get())) {
      add_fault("a kernel reads ahead what may not be written yet");
      return CUDA_ERROR_LAUNCH_FAILED;
    }
    if (queue->capture) {
      // those of host functions and of managed memory are not needed
      if (!operation.work) return refuse_captured(*queue);
      queue->capture->work.push_back(std::move(operation.work));
      return CUDA_SUCCESS;
    }
    if (const CUresult result = refuse_captured(*queue)) return result;
  }
  state().scheduler.add(*queue, std::move(operation));
  return CUDA_SUCCESS;
}

void set_machine(const Machine& machine) {
  State& s = state();
  for (int device = 0; device < s.memory.devices(); ++device) {
    s.scheduler.drop(device);
    s.scheduler.clear_sticky(device);
  }
  const Guard lock(s.mutex);
  std::vector<std::size_t> capacities;
  static auto& retired = *new std::vector<std::unique_ptr<Context>>;  // other threads may hold them
  std::ranges::move(s.contexts, std::back_inserter(retired));
  s.contexts.clear();
  for (const DeviceOptions& device : machine.devices) {
    s.contexts.push_back(
        std::make_unique<Context>(Context{.device = static_cast<int>(capacities.size())}));
    capacities.push_back(device.memory);
  }
  s.machine = machine;
  s.is_initialized = false;
  s.streams.clear();
  s.per_thread.clear();
  s.events.clear();
  s.modules.clear();
  s.arrays.clear();
  s.graphs.clear();
  s.textures.clear();
  s.pools.clear();
  for (int device = 0; device < s.memory.devices(); ++device) s.imports.forget(device);
  s.memory.set_devices(capacities);
  context_stack().depth = 0;
}

void set_behaviour(const Behaviour& behaviour) { state().scheduler.set(behaviour); }
Behaviour behaviour() { return state().scheduler.behaviour(); }

void set_memory(int device, std::size_t bytes) { state().memory.set_capacity(device, bytes); }
std::size_t set_host_memory(std::size_t bytes) { return state().memory.set_host_capacity(bytes); }

Statistics statistics() {
  const Guard lock(state().mutex);
  Statistics result = state().statistics;
  result.operations = state().scheduler.operations();
  return result;
}

void reset_statistics() {
  const Guard lock(state().mutex);
  state().statistics = {};
}

Live live() {
  State& s = state();
  const Guard lock(s.mutex);
  const Memory::Usage host = s.memory.usage(BlockKind::page_locked);
  Live live{.streams = s.streams.size(),
            .events = s.events.size(),
            .modules = s.modules.size(),
            .host_blocks = host.blocks,
            .host_bytes = host.bytes,
            .registrations = s.memory.usage(BlockKind::registered).blocks,
            .managed_blocks = s.memory.usage(BlockKind::managed).blocks,
            .pools = s.pools.pools(),
            .pool_blocks = s.pools.blocks(),
            .imported = s.memory.usage(BlockKind::imported).blocks,
            .arrays = s.arrays.size(),
            .textures = s.textures.size(),
            .graphs = s.graphs.size()};
  for (int device = 0; device < s.memory.devices(); ++device) {
    const Memory::Usage used = s.memory.usage(device);
    live.device_blocks += used.blocks;
    live.device_bytes += used.bytes;
  }
  return live;
}

std::vector<std::uint64_t> last_block() {
  const Guard lock(state().mutex);
  return state().last_block;
}
Beginning last_beginning() {
  const Guard lock(state().mutex);
  return state().last_beginning;
}
std::string last_kernel() {
  const Guard lock(state().mutex);
  return state().last_kernel;
}

std::size_t pending() { return state().scheduler.pending(); }
void run_pending() { state().scheduler.finish_all(); }

std::vector<std::string> take_faults() {
  const Guard lock(state().fault_mutex);
  return std::exchange(state().faults, {});
}

}  // namespace quarry::fake
