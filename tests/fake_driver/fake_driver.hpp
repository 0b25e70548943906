// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/jit/nvjitlink.hpp"
#include "backend/cuda/jit/nvrtc.hpp"

/// A CUDA driver, an NVRTC and an nvJitLink in plain C++, for tests without a GPU. Device memory
/// has addresses that no host code can touch; queued work runs later, in an order that the seed
/// picks among the legal ones; a kernel's arithmetic is that of the CPU loops, its addresses and
/// its grid are those of the launch.
namespace quarry::fake {

struct DeviceOptions {
  std::string name = "Fake H200";
  std::pair<int, int> compute_capability{9, 0};
  std::size_t memory = std::size_t{1} << 30;
};

/// What is there when the driver is loaded; QUARRY_FAKE_DEVICES sets the number of devices,
/// QUARRY_FAKE_CC their compute capability (80 is 8.0), QUARRY_FAKE_CONTEXT the code of
/// `context`.
struct Machine {
  std::vector<DeviceOptions> devices{2};
  CUresult init = CUDA_SUCCESS;
  CUresult context = CUDA_SUCCESS;  ///< of cuDevicePrimaryCtxRetain
  int driver_version = 13000;
  bool has_peers = true;  ///< devices can have access to each other's memory
  /// Entry points ("cuDeviceGetUuid") that the driver does not have.
  std::set<std::string> missing = {};
};

/// How work is run; may be changed at any time, which starts the seed's sequence anew.
/// QUARRY_FAKE_SEED and QUARRY_FAKE_BACKGROUND=1 set it from outside.
struct Behaviour {
  std::uint64_t seed = 1;
  /// Work runs on a thread of its own as soon as it may; otherwise in the calls that wait or poll.
  bool background = false;
  double eagerness = 0.25;  ///< chance that queueing an operation also runs one
  bool polls_run_work = true;
  bool free_waits = true;  ///< cuMemFree lets the device finish first, as the real one does
  int delay_us = 0;        ///< before each operation
};

/// The compiler's knobs.
struct Compiler {
  bool fails = false;
  bool refuses_ptx = false;     ///< of the driver's linker
  int resident_threads = 2048;  ///< of a kernel, on a multiprocessor
  std::string log = "quarry.cu(1): error: the fake compiler was told to fail";
  std::pair<int, int> version{13, 0};
  std::function<void()> while_compiling = [] {};
};

struct Statistics {
  std::int64_t operations = 0, launches = 0, copies = 0, fills = 0, host_functions = 0;
  std::int64_t compilations = 0, modules = 0;
  std::int64_t bytes_to_device = 0, bytes_to_host = 0, bytes_on_device = 0;
  std::int64_t bytes_between_devices = 0;        ///< those are in bytes_on_device too
  std::int64_t batches = 0, batched_copies = 0;  ///< the copies are in `copies` too
  std::int64_t prefetches = 0, advices = 0;
  std::int64_t recordings =
      0;  ///< that a profiler would have made: cuProfilerStart while none runs
};

/// What has been made and not destroyed.
struct Live {
  std::size_t streams = 0, events = 0, modules = 0;
  /// Of cuMemAlloc, cuMemAllocPitch and arrays; bytes with what pools have reserved.
  std::size_t device_blocks = 0, device_bytes = 0;
  std::size_t host_blocks = 0, host_bytes = 0;  ///< of cuMemHostAlloc
  std::size_t registrations = 0, managed_blocks = 0;
  std::size_t pools = 0, pool_blocks = 0;
  std::size_t imported = 0;              ///< other processes' blocks that are open
  std::size_t arrays = 0, textures = 0;  ///< textures with surfaces
  std::size_t graphs = 0;                ///< with instantiated ones
  bool operator==(const Live&) const = default;
};

/// Puts the fake driver, under the shim of shim.hpp, and the fake NVRTC in place of the real ones.
/// To be called before the first use of the backend.
void install(const Machine& machine = {});
bool is_installed();

/// The bare tables.
const backend::cuda::DriverTable& driver_table();
const backend::cuda::NvrtcTable& nvrtc_table();
const backend::cuda::NvJitLinkTable& nvjitlink_table();
/// cuGetProcAddress of the machine.
CUresult get_proc_address(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status);

void set_machine(const Machine& machine);  ///< forgets all contexts and memory
void set_behaviour(const Behaviour& behaviour);
Behaviour behaviour();
void set_compiler(const Compiler& compiler);
void set_memory(int device, std::size_t bytes);  ///< the capacity from now on
std::size_t set_host_memory(std::size_t bytes);  ///< that can be page-locked; returns what could

bool is_recording(int device);  ///< between cuProfilerStart and cuProfilerStop
Statistics statistics();
void reset_statistics();
/// Kernels that work() launches.
template <class F>
std::int64_t launches_of(const F& work) {
  const std::int64_t before = statistics().launches;
  work();
  return statistics().launches - before;
}
Live live();
std::string last_kernel();                ///< the name expression of the latest launch
std::vector<std::uint64_t> last_block();  ///< its parameter block
/// How the latest kernel of Quarry's begins: before the work ahead of it is done, with reads of
/// what that does not write, and those behind it when all of that is done.
struct Beginning {
  bool is_early = false, reads_ahead = false, waits_first = false;
  friend bool operator==(const Beginning&, const Beginning&) = default;
};
Beginning last_beginning();
std::size_t pending();  ///< operations that have been queued and not run
void run_pending();     ///< runs them all

/// Misuse that was seen (bad addresses, double frees, grids that cover too little), oldest first;
/// taking them clears the list.
std::vector<std::string> take_faults();

}  // namespace quarry::fake
