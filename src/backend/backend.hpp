// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/base/array_descriptor.hpp>
#include <quarry/base/ipc.hpp>
#include <quarry/base/kernel_cache.hpp>
#include <quarry/base/managed.hpp>
#include <quarry/base/memory_info.hpp>
#include <quarry/base/pointer_info.hpp>
#include <quarry/kernels/program.hpp>

#include "backend/kernel_call.hpp"
#include "backend/ledger.hpp"
#include "backend/source_kernel.hpp"

/// The interface of a device. All layers above use it; the CPU and CUDA implement it. Pointers
/// are plain addresses, streams and events opaque handles of the device that made them. Every
/// call may come from any thread and binds its own context. Errors are Quarry's exceptions (see
/// error.hpp).
namespace quarry::backend {

using Stream = void*;  ///< nullptr is the device's default stream
using Event = void*;

struct DeviceInfo {
  bool is_cpu = false;
  int id = 0;  ///< ordinal among the GPUs; 0 for the CPU
  std::string name, uuid;
  std::pair<int, int> compute_capability{0, 0};
  int most_words = 3900;  ///< of a kernel's parameter block
};

/// The order of a stream relative to others.
enum class StreamOrder {
  with_default,  ///< waits for the legacy default stream, and vice versa
  independent,   ///< neither
  behind_events  ///< neither; uses memory only after events of the streams that allocated it
};

/// Only timed events have a time.
enum class EventKind {
  timed,
  untimed,
  order_only,   ///< for the order of memory uses: does not propagate errors
  interprocess  ///< can be opened by other processes; not on the CPU
};

enum class Direction { host_to_device, device_to_host, device_to_device };

/// `slices` of `rows` of `bytes` bytes; rows are `pitch` bytes apart, slices `slice` bytes. rows =
/// 1 and slices = 1 is a plain copy.
struct Copy {
  Direction direction;
  void* to;
  const void* from;
  std::size_t bytes, rows = 1, to_pitch = 0, from_pitch = 0;
  std::size_t slices = 1, to_slice = 0, from_slice = 0;
};

/// One of many copies of a batch.
struct Piece {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// One side of a block copy, field by field as the driver's CUDA_MEMCPY3D has them; pitch and
/// height of an array are those of its rows without gaps.
enum class SideKind { host, device, unified, array };
class Device;
struct BlockSide {
  SideKind kind = SideKind::host;
  void* address = nullptr;  ///< of an array the handle
  std::size_t x_in_bytes = 0, y = 0, z = 0, lod = 0, pitch = 0, height = 0;
  Device* device = nullptr;  ///< of a peer copy; nullptr is the device that is called
};
/// `width_in_bytes` x `height` x `depth` from one block into another.
struct BlockCopy {
  BlockSide to = {}, from = {};
  std::size_t width_in_bytes = 0, height = 1, depth = 1;
  bool unaligned = false;  ///< cuMemcpy2DUnaligned: pitches that the plain copy refuses; waits
};

/// How page-locked host memory is made or registered.
struct HostMemoryFlags {
  bool portable = false;        ///< page-locked for every device
  bool mapped = false;          ///< in the address space of the device
  bool write_combined = false;  ///< uncached: fast to write in order, very slow to read
  bool read_only = false;       ///< registration only: the device does not write it
};

/// What an address is, and the GPU that it lies on.
struct PointerInfo : AddressInfo {
  int device = -1;  ///< ordinal; -1 for host memory
};

/// Bytes of the driver's stream-ordered pool: reserved from the system, and allocated.
struct DriverPoolInfo {
  std::size_t reserved = 0, reserved_high = 0, used = 0, used_high = 0;
};

using HostFunction = void (*)(void* state);
/// Called instead if the work before it has failed.
using HostFailure = void (*)(void* state, const std::exception_ptr& error);

// Parts of a device with a header each.
class Contexts;
class Graphs;
class Textures;

class Device {
 public:
  virtual ~Device() = default;

  virtual Graphs& graphs() = 0;  ///< see graphs.hpp
  ///@{
  /// What only GPUs have; throw LogicError on the CPU device.
  virtual Contexts& contexts();  ///< see contexts.hpp
  virtual Textures& textures();  ///< see textures.hpp
  ///@}

  virtual const DeviceInfo& info() const = 0;
  /// Every attribute by its CUDA name without prefix (MULTIPROCESSOR_COUNT, WARP_SIZE, ...).
  virtual std::map<std::string, std::int64_t> attributes() const = 0;
  virtual MemoryInfo memory_info() = 0;
  virtual bool can_access_peer(const Device& other) const = 0;
  virtual void synchronize() = 0;
  /// Waits as synchronize() does; errors of the work are left for the next synchronize().
  virtual void drain() noexcept = 0;
  /// Destroys all of the process's objects on this device. Throws LogicError, with a list, unless
  /// the ledger is empty.
  void reset();
  /// The live objects on this device.
  const Ledger& ledger() const { return ledger_; }

  /// Device memory aligned to at least 256 bytes, or nullptr when there is none.
  void* allocate(std::size_t bytes);
  void free(void* memory, std::size_t bytes) noexcept;

  // Memory of other kinds. Allocations return nullptr when memory runs out. On the CPU device all
  // of them are aligned memory of the program.

  /// Rows of `width` bytes, `height` of them; `access` is the largest word that will be read: 4, 8
  /// or 16 bytes, LogicError is thrown for others. Freed by free().
  struct Pitched {
    void* memory = nullptr;
    std::size_t pitch = 0;
  };
  Pitched allocate_pitched(std::size_t width, std::size_t height, unsigned access);
  /// From the device's own stream-ordered pool (made on the first call; the current pool of the
  /// device is never altered): usable in `stream` order, freed in `stream` order. Kernels of peers
  /// cannot access it. Throws LogicError if the driver or the device has no such pools.
  void* allocate_pooled(std::size_t bytes, Stream stream);
  void free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept;
  virtual DriverPoolInfo driver_pool() = 0;
  virtual void trim_driver_pool(std::size_t bytes_to_keep) = 0;

  /// Page-locked host memory.
  void* allocate_host(std::size_t bytes, const HostMemoryFlags& flags);
  void free_host(void* memory) noexcept;
  /// The CU_MEMHOSTALLOC_* flags.
  virtual unsigned host_flags(void* memory) = 0;
  /// Page-locks memory of the program, any address and size. Throws LogicError when it is
  /// registered already or cannot be, MemoryError when the system refuses.
  void register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags);
  void unregister_host(void* memory);  ///< throws LogicError if it is not registered
  /// The device address of page-locked, mapped or registered memory.
  virtual void* device_pointer(void* host) = 0;

  /// `attach` is global or host; LogicError is thrown for single. Freed by free().
  void* allocate_managed(std::size_t bytes, Attach attach);
  virtual void attach_managed(Stream stream, void* memory, Attach attach) = 0;
  /// `to` is the device that the pages go to; the CPU device is the host. Throws LogicError for
  /// memory that is not managed, and on a GPU without the attribute CONCURRENT_MANAGED_ACCESS.
  virtual void prefetch(void* memory, std::size_t bytes, const Device& to, Stream stream) = 0;
  virtual void advise(void* memory, std::size_t bytes, Advice advice, const Device& about) = 0;

  /// The handle of a CUDA array, on the CPU device the address of its rows without gaps; nullptr
  /// when there is no memory for it. Throws LogicError, with the descriptor, where the driver
  /// refuses it.
  void* create_array(const ArrayDescriptor& descriptor);
  void destroy_array(void* array) noexcept;  ///< no pending work may use it

  virtual PointerInfo pointer_info(const void* address) = 0;
  virtual void enable_peer_access(Device& other) = 0;   ///< no error when it is enabled
  virtual void disable_peer_access(Device& other) = 0;  ///< no error when it is not

  /// `memory` is the start of an allocation of allocate(). Throws LogicError on the CPU device.
  virtual IpcBytes export_memory(void* memory) = 0;
  void* import_memory(const IpcBytes& handle);
  void close_imported(void* memory);
  virtual IpcBytes export_event(Event event) = 0;
  Event import_event(const IpcBytes& handle);

  /// `priority`: lower is more urgent, clamped to the range.
  Stream create_stream(StreamOrder order, int priority = 0);
  /// Called before a stream that does not wait for the legacy default stream uses memory of this
  /// device: an independent one, one of another library or of another GPU. Completes the uploads
  /// that have returned; from now on every upload is done on return. Before, later work in any
  /// stream waited for them anyway.
  void note_unordered_stream();
  void destroy_stream(Stream stream) noexcept;  ///< pending work still completes
  /// {least urgent, most urgent}.
  virtual std::pair<int, int> priority_range() const = 0;
  /// The streams every CUDA program has: nullptr (default), legacy (1), per-thread (2). The CPU's
  /// are equal.
  virtual Stream legacy_stream() const = 0;
  virtual Stream per_thread_stream() const = 0;
  virtual void synchronize(Stream stream) = 0;
  virtual bool is_done(Stream stream) = 0;
  /// Runs `f(state)` on a thread of the backend after all work queued so far; if that failed
  /// `instead(state, error)`, if given. Neither may throw; device calls in `f` throw
  /// LogicError.
  virtual void host_call(Stream stream, HostFunction f, void* state,
                         HostFailure instead = nullptr) = 0;

  /// `blocking`: waiting threads sleep instead of spinning.
  Event create_event(EventKind kind, bool blocking = false);
  void destroy_event(Event event) noexcept;
  virtual void record(Event event, Stream stream) = 0;
  virtual bool query(Event event) = 0;  ///< true also when never recorded
  virtual void wait(Event event) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual float elapsed_ms(Event start, Event end) = 0;

  /// Ordered in `stream`; with `blocking` returns when done, except for one row of pageable host
  /// memory in the legacy stream: that may be reused, and streams that wait for the legacy stream
  /// see the copy. Without `blocking` pageable host memory may be reused on return, pinned memory
  /// not.
  virtual void copy(const Copy& copy, Stream stream, bool blocking) = 0;
  /// Many copies without order among them, in one call if the driver supports it (not in the legacy
  /// stream), else one by one. Host memory must stay unchanged until they are done, pageable memory
  /// too.
  virtual void copy_batch(Direction direction, std::span<const Piece> pieces, Stream stream) = 0;
  virtual bool has_batched_copies(Stream stream) const = 0;
  /// As the driver's structured copies; returns when done if `blocking`, as an unaligned copy does
  /// always. Throws LogicError where a pitch or a height is too small for what is copied.
  virtual void copy_block(const BlockCopy& copy, Stream stream, bool blocking) = 0;
  /// `to` lies on this device, `from` on another GPU; with or without peer access.
  virtual void copy_from_peer(void* to, const void* from, const Device& peer, std::size_t bytes,
                              Stream stream, bool blocking) = 0;
  /// `count` repetitions of a pattern of 1, 2, 4, 8 or 16 bytes; `to` is aligned to it.
  virtual void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                    Stream stream) = 0;
  /// `height` rows of `width` patterns of 1, 2 or 4 bytes, `pitch` bytes apart.
  virtual void fill_rows(void* to, std::size_t pitch, const void* pattern, std::size_t size,
                         std::size_t width, std::size_t height, Stream stream) = 0;

  /// Queued in `stream`. Throws LogicError for a call that is larger than the device's grids or
  /// parameter blocks; memory for the call is taken from `workspace`.
  virtual void launch(const KernelCall& call, Workspace& workspace, Stream stream) = 0;

  // Kernels of the program. On the CPU device load_module() throws LogicError.

  /// Throws CompileError, with `log`, for an image that the driver refuses.
  Module load_module(const ModuleImage& image, LoadLog& log);
  void unload_module(Module module) noexcept;  ///< no pending work may use it
  /// nullptr if the module has none of this name.
  virtual Function find_function(Module module, const std::string& name) = 0;
  virtual GlobalVariable find_global(Module module, const std::string& name) = 0;
  /// The sizes of the parameters in bytes; nothing where the driver cannot tell.
  virtual std::optional<std::vector<std::size_t>> parameter_sizes(Function function) = 0;
  virtual int attribute(Function function, FunctionAttribute attribute) = 0;
  virtual void set_attribute(Function function, FunctionAttribute attribute, int value) = 0;
  virtual void set_cache_config(Function function, CacheConfig config) = 0;
  /// The threads of a block with which most of them run at once, and how many such blocks one
  /// multiprocessor runs, with so much dynamic shared memory.
  virtual int best_block_size(Function function, std::size_t shared) = 0;
  virtual int blocks_at_once(Function function, int threads, std::size_t shared) = 0;
  /// `parameters` are the addresses of the arguments, which are read at once. Throws LaunchError.
  virtual void launch(Function function, const LaunchShape& shape, void** parameters,
                      Stream stream) = 0;

 protected:
  Ledger& own_ledger() { return ledger_; }  ///< for its parts to write
  /// An upload has read its host memory; it completes in the order of the legacy default stream.
  void note_upload();

 private:
  // Creation and destruction: the public functions of these names keep the ledger.
  virtual void do_reset() = 0;
  virtual void* do_allocate(std::size_t bytes) = 0;
  virtual void do_free(void* memory, std::size_t bytes) noexcept = 0;
  virtual Pitched do_allocate_pitched(std::size_t width, std::size_t height, unsigned access) = 0;
  virtual void* do_allocate_pooled(std::size_t bytes, Stream stream) = 0;
  virtual void do_free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept = 0;
  virtual void* do_allocate_host(std::size_t bytes, const HostMemoryFlags& flags) = 0;
  virtual void do_free_host(void* memory) noexcept = 0;
  virtual void do_register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) = 0;
  virtual void do_unregister_host(void* memory) = 0;
  virtual void* do_allocate_managed(std::size_t bytes, Attach attach) = 0;
  virtual void* do_create_array(const ArrayDescriptor& descriptor) = 0;
  virtual void do_destroy_array(void* array) noexcept = 0;
  virtual void* do_import_memory(const IpcBytes& handle) = 0;
  virtual void do_close_imported(void* memory) = 0;
  virtual Event do_import_event(const IpcBytes& handle) = 0;
  virtual Stream do_create_stream(StreamOrder order, int priority) = 0;
  virtual void do_destroy_stream(Stream stream) noexcept = 0;
  virtual Event do_create_event(EventKind kind, bool blocking) = 0;
  virtual void do_destroy_event(Event event) noexcept = 0;
  virtual Module do_load_module(const ModuleImage& image, LoadLog& log) = 0;
  virtual void do_unload_module(Module module) noexcept = 0;

  template <class Undo>
  void* listed(Owned kind, void* handle, std::size_t bytes, Undo undo);

  void finish_uploads();

  Ledger ledger_;
  std::atomic<bool> has_unordered_streams_ = false, has_pending_uploads_ = false;
};

/// The CPU; always available.
Device& cpu();

/// The devices that the calling thread has used: bit 0 for the CPU, bit 1 + id for a GPU; those
/// from 62 on share one.
extern constinit thread_local std::uint64_t used_devices;
constexpr std::uint64_t cpu_bit = 1;
constexpr std::uint64_t gpu_bit(int id) { return std::uint64_t{2} << (id < 62 ? id : 62); }

/// The state of CUDA in this process. Nothing throws: without CUDA the list is empty and `why` has
/// the reason.
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

/// Since the program started.
KernelCacheStatistics kernel_cache_statistics();
KernelCacheInfo kernel_cache_info();
/// The expression types for which a kernel was requested, in that order.
std::vector<std::string> kernel_names();

}  // namespace quarry::backend
