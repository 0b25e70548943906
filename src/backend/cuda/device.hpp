// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>

#include "backend/backend.hpp"
#include "backend/cuda/contexts.hpp"
#include "backend/cuda/driver/context.hpp"
#include "backend/cuda/driver_pool.hpp"
#include "backend/cuda/graphs.hpp"
#include "backend/cuda/jit/kernel.hpp"
#include "backend/cuda/textures.hpp"

/// A GPU behind backend.hpp: thin calls of the driver. Streams and events are in device.cpp, memory
/// in memory.cpp, CUDA arrays in array.cpp, textures in textures.cpp, peers in peer.cpp, other
/// processes in ipc.cpp, copies in copy.cpp and block_copy.cpp, fills in fill.cpp, kernels in
/// launch/launch.cpp, those of programs in module.cpp, contexts in contexts.cpp, graphs in
/// graphs.cpp.
namespace quarry::backend::cuda {

class CudaDevice final : public Device {
 public:
  /// The GPU with this ordinal; takes no context. Throws what the driver reports.
  explicit CudaDevice(int id);

  Graphs& graphs() override { return graphs_; }
  Contexts& contexts() override { return contexts_; }
  Textures& textures() override { return textures_; }

  const DeviceInfo& info() const override { return info_; }
  std::map<std::string, std::int64_t> attributes() const override;
  MemoryInfo memory_info() override;
  bool can_access_peer(const Device& other) const override;
  void synchronize() override;
  void drain() noexcept override;
  void set_profiling(bool is_on);  ///< see profiler.hpp

  DriverPoolInfo driver_pool() override;
  void trim_driver_pool(std::size_t bytes_to_keep) override;

  unsigned host_flags(void* memory) override;
  void* device_pointer(void* host) override;

  void attach_managed(Stream stream, void* memory, Attach attach) override;
  void prefetch(void* memory, std::size_t bytes, const Device& to, Stream stream) override;
  void advise(void* memory, std::size_t bytes, Advice advice, const Device& about) override;

  PointerInfo pointer_info(const void* address) override;
  void enable_peer_access(Device& other) override;
  void disable_peer_access(Device& other) override;

  IpcBytes export_memory(void* memory) override;
  IpcBytes export_event(Event event) override;

  std::pair<int, int> priority_range() const override;
  Stream legacy_stream() const override { return CU_STREAM_LEGACY; }
  Stream per_thread_stream() const override { return CU_STREAM_PER_THREAD; }
  void synchronize(Stream stream) override;
  bool is_done(Stream stream) override;
  void host_call(Stream stream, HostFunction f, void* state, HostFailure instead) override;

  void record(Event event, Stream stream) override;
  bool query(Event event) override;
  void wait(Event event) override;
  void wait(Stream stream, Event event) override;
  float elapsed_ms(Event start, Event end) override;

  void copy(const Copy& copy, Stream stream, bool blocking) override;
  void copy_batch(Direction direction, std::span<const Piece> pieces, Stream stream) override;
  bool has_batched_copies(Stream stream) const override;
  void copy_block(const BlockCopy& copy, Stream stream, bool blocking) override;
  void copy_from_peer(void* to, const void* from, const Device& peer, std::size_t bytes,
                      Stream stream, bool blocking) override;
  void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
            Stream stream) override;
  void fill_rows(void* to, std::size_t pitch, const void* pattern, std::size_t size,
                 std::size_t width, std::size_t height, Stream stream) override;

  void launch(const KernelCall& call, Workspace& workspace, Stream stream) override;

  Function find_function(Module module, const std::string& name) override;
  GlobalVariable find_global(Module module, const std::string& name) override;
  std::optional<std::vector<std::size_t>> parameter_sizes(Function function) override;
  int attribute(Function function, FunctionAttribute attribute) override;
  void set_attribute(Function function, FunctionAttribute attribute, int value) override;
  void set_cache_config(Function function, CacheConfig config) override;
  int best_block_size(Function function, std::size_t shared) override;
  int blocks_at_once(Function function, int threads, std::size_t shared) override;
  void launch(Function function, const LaunchShape& shape, void** parameters,
              Stream stream) override;

 private:
  void do_reset() override;
  void* do_allocate(std::size_t bytes) override;
  void do_free(void* memory, std::size_t bytes) noexcept override;
  Pitched do_allocate_pitched(std::size_t width, std::size_t height, unsigned access) override;
  void* do_allocate_pooled(std::size_t bytes, Stream stream) override;
  void do_free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept override;
  void* do_allocate_host(std::size_t bytes, const HostMemoryFlags& flags) override;
  void do_free_host(void* memory) noexcept override;
  void do_register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) override;
  void do_unregister_host(void* memory) override;
  void* do_allocate_managed(std::size_t bytes, Attach attach) override;
  void* do_create_array(const ArrayDescriptor& descriptor) override;
  void do_destroy_array(void* array) noexcept override;
  void* do_import_memory(const IpcBytes& handle) override;
  void do_close_imported(void* memory) override;
  Event do_import_event(const IpcBytes& handle) override;
  Stream do_create_stream(StreamOrder order, int priority) override;
  void do_destroy_stream(Stream stream) noexcept override;
  Event do_create_event(EventKind kind, bool blocking) override;
  void do_destroy_event(Event event) noexcept override;
  Module do_load_module(const ModuleImage& image, LoadLog& log) override;
  void do_unload_module(Module module) noexcept override;

  /// Throws LogicError for a device that is no GPU.
  static CudaDevice& of(const Device& device);
  static void copy_between_devices(const BlockCopy& copy, CudaDevice& to, CudaDevice& from,
                                   Stream stream, bool at_once);
  int attribute(CUdevice_attribute name) const;
  bool holds_managed(std::size_t bytes);
  KernelTarget target() const {
    return {info_.id, context_.generation(), info_.compute_capability};
  }

  CUdevice device_ = 0;
  DeviceInfo info_;
  int multiprocessors_ = 1;
  std::int64_t cache_ = 0;          ///< bytes of the L2
  std::atomic<unsigned> maps_ = 0;  ///< launched so far: every second one runs in reverse order
  mutable Context context_;
  DriverPool pool_;
  CudaGraphs graphs_{context_, own_ledger()};
  CudaContexts contexts_{device_, context_, pool_};
  CudaTextures textures_{device_, context_, own_ledger()};
};

}  // namespace quarry::backend::cuda
