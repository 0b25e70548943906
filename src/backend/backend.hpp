// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/kernels/program.hpp>

#include "backend/words.hpp"

/// What a device must be able to do. Everything above talks to this interface; below it are the CPU
/// and CUDA. Pointers are plain addresses, streams and events opaque handles of the device that
/// made them. Every call may come from any thread and binds its own context. Errors are Quarry's
/// exceptions (see error.hpp).
namespace quarry::backend {

using Stream = void*;  ///< nullptr is the device's default stream
using Event = void*;

struct DeviceInfo {
  bool is_cpu = false;
  int id = 0;  ///< ordinal among the GPUs; 0 for the CPU
  std::string name, uuid;
  std::pair<int, int> compute_capability{0, 0};
};

struct MemoryInfo {
  std::size_t free = 0, total = 0;
};

struct StreamOptions {
  bool non_blocking = false;  ///< does not wait for the legacy default stream, nor it for this one
  int priority = 0;           ///< lower is more urgent, clamped to the device's range
};

struct EventOptions {
  bool timing = true, blocking = false, interprocess = false;
};

enum class Direction { host_to_device, device_to_host, device_to_device };

/// `rows` rows of `bytes` bytes, `pitch` bytes apart; rows = 1 is a plain copy.
struct Copy {
  Direction direction;
  void* to;
  const void* from;
  std::size_t bytes, rows = 1, to_pitch = 0, from_pitch = 0;
};

/// A map over `size` > 0 elements. `words` is the parameter block of kernels/params.hpp with K =
/// inputs + 1 and R = rank; rank 0 says that every operand is dense in the same order. `span`
/// bounds the absolute byte offset of any element of any operand, so that 32-bit indices can be
/// chosen.
struct MapCall {
  const kernels::program* program;
  int rank;
  std::int64_t size, span;
  Words words;
};

/// A reduction of `kept` outputs over `reduced` elements each, both > 0. Axes are collapsed; the
/// innermost axis of each group is the last. `along_reduced` says that the smallest input strides
/// are reduced ones.
struct ReduceCall {
  const kernels::program* program;
  int kept_rank, reduced_rank;
  std::int64_t kept, reduced, span;
  bool along_reduced;
  bool dense_output;  ///< output k is at word pointer + k * itemsize
  Words words;
};

using HostFunction = void (*)(void* state);

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  /// Every attribute by its CUDA name without prefix (MULTIPROCESSOR_COUNT, WARP_SIZE, ...).
  virtual std::map<std::string, std::int64_t> attributes() const = 0;
  virtual MemoryInfo memory_info() = 0;
  virtual bool can_access_peer(const Device& other) const = 0;
  virtual void synchronize() = 0;
  /// Destroys all that the process holds on this device.
  virtual void reset() = 0;

  /// Device memory aligned to at least 256 bytes, or nullptr when there is none.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory, std::size_t bytes) noexcept = 0;

  virtual Stream create_stream(const StreamOptions& options) = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;  ///< pending work still completes
  /// {least urgent, most urgent}.
  virtual std::pair<int, int> priority_range() const = 0;
  /// The streams every CUDA program has: nullptr (default), legacy (1), per-thread (2). The CPU's
  /// are equal.
  virtual Stream legacy_stream() const = 0;
  virtual Stream per_thread_stream() const = 0;
  virtual void synchronize(Stream stream) = 0;
  virtual bool is_done(Stream stream) = 0;
  /// Runs `f(state)` on a thread of the backend after all work queued so far. `f` must not throw
  /// nor call the device.
  virtual void host_call(Stream stream, HostFunction f, void* state) = 0;

  virtual Event create_event(const EventOptions& options) = 0;
  virtual void destroy_event(Event event) noexcept = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual bool query(Event event) = 0;  ///< true also when never recorded
  virtual void wait(Event event) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual float elapsed_ms(Event start, Event end) = 0;

  /// Ordered in `stream`; with `blocking` returns when done. Without it pageable host memory is
  /// safe to reuse on return all the same, pinned memory is not.
  virtual void copy(const Copy& copy, Stream stream, bool blocking) = 0;
  /// `count` repetitions of a pattern of 1, 2, 4, 8 or 16 bytes; `to` is aligned to it.
  virtual void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                    Stream stream) = 0;

  virtual void map(const MapCall& call, Stream stream) = 0;
  /// Bytes of device memory that `reduce` wants as scratch for this call, 0 for none.
  virtual std::size_t reduce_scratch(const ReduceCall& call) const = 0;
  virtual void reduce(const ReduceCall& call, void* scratch, Stream stream) = 0;
};

/// The CPU; always there.
Device& cpu();

/// Hits and misses of compiled kernels since the program started.
struct CacheCounters {
  std::int64_t memory_hits = 0, disk_hits = 0, compiled = 0;
};
/// Size on disk of the kernel cache; path is empty when there is none.
struct CacheInfo {
  std::string path;
  std::int64_t bytes = 0, entries = 0;
};

/// What is known of CUDA in this process. Nothing throws: without CUDA the list is empty and `why`
/// says why.
struct CudaStatus {
  bool available = false;
  std::string why;    ///< one sentence, empty when available
  std::string error;  ///< CUDA_ERROR_NAME (code) when the driver itself failed, else empty
  std::pair<int, int> driver_version{
      0, 0};  ///< CUDA version that the driver supports; 0 without a driver
  std::pair<int, int> nvrtc_version{0, 0};  ///< 0 without NVRTC
  std::string nvrtc_why;                    ///< why NVRTC cannot be used, empty when it can
};
const CudaStatus& cuda_status();
/// The GPUs, made on the first call and kept; a GPU's context is made on its first use.
const std::vector<std::unique_ptr<Device>>& cuda_devices();

CacheCounters kernel_cache_counters();
CacheInfo kernel_cache_info();
/// The expression types for which a kernel has been asked, in that order.
std::vector<std::string> kernel_names();

}  // namespace quarry::backend
