// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/memory/array.hpp"
#include "fake_driver/memory/ipc.hpp"
#include "fake_driver/memory/memory.hpp"
#include "fake_driver/memory/pool.hpp"
#include "fake_driver/memory/texture.hpp"
#include "fake_driver/streams/capture.hpp"
#include "fake_driver/streams/scheduler.hpp"
#include "fake_driver/streams/shared_event.hpp"

/// All that the fake driver knows.
namespace quarry::fake {

struct Event {
  int device;
  bool has_timing;
  std::shared_ptr<Mark> latest;  ///< null before the first cuEventRecord of this process
  std::shared_ptr<SharedEvent> shared = nullptr;  ///< of events that processes share
  std::weak_ptr<Capture> captured_in = {};        ///< of the latest recording, if it was captured
  bool is_captured = false;
};

/// A kernel in a loaded module: its address is the CUfunction.
struct Function {
  int device;
  std::string expression;
  std::map<CUfunction_attribute, int> attributes = {};  ///< that were set
  /// Launches of kernels from source that have not run yet.
  std::shared_ptr<std::atomic<int>> queued = std::make_shared<std::atomic<int>>(0);
};

struct Module {
  int device;
  std::map<std::string, Function> functions;  ///< by mangled name
  std::map<std::string, std::pair<CUdeviceptr, std::size_t>> variables = {};
};

struct Context {
  int device;
  bool is_active = false;
  std::shared_ptr<Queue> legacy = nullptr;
  unsigned long long unique = 0;  ///< another one after each reset
  int retained = 0;               ///< how often, less the releases
  unsigned flags = 0;
  std::map<CUlimit, std::size_t> limits = {};  ///< that were set
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  bool is_recorded = false;  ///< by the profiler
};

struct State {
  std::mutex mutex;  ///< of all below up to `memory`, from where each has its own
  Machine machine;
  bool is_initialized = false;
  std::vector<std::unique_ptr<Context>> contexts;
  std::map<const void*, std::shared_ptr<Queue>> streams;
  std::map<std::pair<int, std::thread::id>, std::shared_ptr<Queue>> per_thread;
  std::map<const void*, std::unique_ptr<Event>> events;
  std::map<const void*, std::unique_ptr<Module>> modules;
  std::map<const void*, std::unique_ptr<Array>> arrays;
  std::map<const void*, std::unique_ptr<Graph>> graphs;  ///< and instantiated ones
  std::map<CUtexObject, Texture> textures;               ///< and surfaces
  CUtexObject next_texture = 1;
  int captures = 0;  ///< streams that are being captured
  std::string last_kernel;
  std::vector<std::uint64_t> last_block;
  Beginning last_beginning;
  Statistics statistics;

  Memory memory;
  Pools pools;
  Imports imports;
  Scheduler scheduler;

  std::mutex fault_mutex;
  std::vector<std::string> faults;
};

/// Never destroyed: threads may use it to the end of the process.
State& state();
using Guard = std::lock_guard<std::mutex>;

void add_fault(const std::string& text);

/// The contexts of a thread, the current one last. Needs no destructor: static objects, whose
/// destructors run after those of the thread, use the driver.
struct ContextStack {
  static constexpr std::size_t most = 64;
  std::array<Context*, most> contexts{};
  std::size_t depth = 0;
};
ContextStack& context_stack();
/// The current context of this thread, or nullptr.
Context* current_context();
/// Whether the driver is initialised and the device there. With the state's lock held.
CUresult entered_device(CUdevice device);
/// The PCI bus of the first device; the others follow.
constexpr int first_bus = 16;
/// What every call but the device queries begins with: it fails in a host function, before cuInit,
/// without a live current context, once the device has a sticky error, and after the driver's end.
CUresult enter();
/// The driver ends with the program: in an exit handler of its own, as the real one does. A thread
/// that calls it afterwards gets an error; the one that runs the exit handlers ends with code 98.
void end_with_the_program();
/// The last of these alone.
CUresult check_running();
int current_device();
/// Whether `context` is one of the machine's and active.
bool is_live(CUcontext context);
/// Whether the devices can have access to each other.
bool can_reach(int device, int peer);

/// The queue behind a handle, or nullptr. With the state's lock held.
std::shared_ptr<Queue> find_stream(CUstream stream);

/// Queues work on the stream, or captures it; `cost_ms` is what it takes in virtual time.
CUresult enqueue(CUstream stream, Operation operation);

}  // namespace quarry::fake
