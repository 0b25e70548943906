// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cpu/copy.hpp"
#include "backend/cpu/event.hpp"
#include "backend/cpu/graphs.hpp"
#include "backend/cpu/limits.hpp"
#include "backend/cpu/loaded_code.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/machine.hpp"
#include "backend/cpu/memory.hpp"
#include "backend/cpu/stream.hpp"
#include "base/float_environment.hpp"
#include "base/forked.hpp"

namespace quarry::backend {
namespace cpu_backend {
namespace {

[[noreturn]] void refuse_ipc() {
  throw LogicError(
      "the CPU device shares no memory and no events with other processes: only GPUs do");
}

[[noreturn]] void refuse_source_kernels() {
  throw LogicError("kernels from CUDA source run on GPUs only, and this is the CPU device");
}

void require_cpu(const Device& other, const char* what) {
  require<LogicError>(other.info().is_cpu, [&] {
    return fmt::format("the CPU device has no {} with GPU {}", what, other.info().id);
  });
}

void require_memory(const void* memory) {
  require<LogicError>(memory, "there is no memory at a null pointer");
}

class CpuDevice final : public Device {
 public:
  Graphs& graphs() override { return graphs_; }
  const DeviceInfo& info() const override { return info_; }
  std::map<std::string, std::int64_t> attributes() const override { return machine_attributes(); }
  MemoryInfo memory_info() override { return memory_limits(); }
  bool can_access_peer(const Device& other) const override { return other.info().is_cpu; }
  void synchronize() override { streams_.synchronize(); }
  void drain() noexcept override { streams_.drain(); }
  DriverPoolInfo driver_pool() override;
  void trim_driver_pool(std::size_t) override {}  // it keeps nothing

  unsigned host_flags(void* memory) override { return known_.flags(memory); }
  void* device_pointer(void* host) override { return known_.device_pointer(host); }

  void attach_managed(Stream, void* memory, Attach) override { known_.require_managed(memory); }
  void prefetch(void* memory, std::size_t, const Device&, Stream) override {
    require_memory(memory);
  }
  void advise(void* memory, std::size_t, Advice, const Device&) override { require_memory(memory); }

  PointerInfo pointer_info(const void* address) override { return known_.info(address); }
  void enable_peer_access(Device& other) override { require_cpu(other, "peer access"); }
  void disable_peer_access(Device& other) override { require_cpu(other, "peer access"); }

  IpcBytes export_memory(void*) override { refuse_ipc(); }
  IpcBytes export_event(Event) override { refuse_ipc(); }

  std::pair<int, int> priority_range() const override { return {0, 0}; }
  Stream legacy_stream() const override { return Streams::legacy(); }
  Stream per_thread_stream() const override { return Streams::per_thread(); }
  void synchronize(Stream stream) override { streams_.synchronize(stream); }
  bool is_done(Stream stream) override { return streams_.is_done(stream); }
  void host_call(Stream stream, HostFunction f, void* state, HostFailure instead) override {
    streams_.host_call(stream, f, state, instead);
  }

  void record(Event event, Stream stream) override { streams_.mark(stream, state(event)); }
  bool query(Event event) override;
  void wait(Event event) override;
  void wait(Stream stream, Event event) override { streams_.wait(stream, state(event)); }
  float elapsed_ms(Event start, Event end) override {
    return cpu_backend::elapsed_ms(state(start), state(end));
  }

  void copy(const Copy& copy, Stream stream, bool blocking) override {
    copy_in_order(streams_, copy, stream, blocking);
  }
  void copy_batch(Direction direction, std::span<const Piece> pieces, Stream stream) override {
    copy_pieces(streams_, direction, pieces, stream);
  }
  bool has_batched_copies(Stream) const override { return true; }
  void copy_block(const BlockCopy& copy, Stream stream, bool blocking) override {
    cpu_backend::copy_block(streams_, copy, stream, blocking);
  }
  void copy_from_peer(void* to, const void* from, const Device& peer, std::size_t bytes,
                      Stream stream, bool blocking) override;
  void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
            Stream stream) override;
  void fill_rows(void* to, std::size_t pitch, const void* pattern, std::size_t size,
                 std::size_t width, std::size_t height, Stream stream) override;

  void launch(const KernelCall& call, Workspace& workspace, Stream stream) override;

  Function find_function(Module, const std::string&) override { refuse_source_kernels(); }
  GlobalVariable find_global(Module, const std::string&) override { refuse_source_kernels(); }
  std::optional<std::vector<std::size_t>> parameter_sizes(Function) override {
    refuse_source_kernels();
  }
  int attribute(Function, FunctionAttribute) override { refuse_source_kernels(); }
  void set_attribute(Function, FunctionAttribute, int) override { refuse_source_kernels(); }
  void set_cache_config(Function, CacheConfig) override { refuse_source_kernels(); }
  int best_block_size(Function, std::size_t) override { refuse_source_kernels(); }
  int blocks_at_once(Function, int, std::size_t) override { refuse_source_kernels(); }
  void launch(Function, const LaunchShape&, void**, Stream) override { refuse_source_kernels(); }

 private:
  /// There is no context to destroy: waits for the streams.
  void do_reset() override { streams_.synchronize(); }
  void* do_allocate(std::size_t bytes) override { return aligned_memory(bytes); }
  void do_free(void* memory, std::size_t) noexcept override { known_.free(memory); }
  Pitched do_allocate_pitched(std::size_t width, std::size_t height, unsigned) override {
    return pitched_memory(width, height);
  }
  void* do_allocate_pooled(std::size_t bytes, Stream stream) override;
  void do_free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept override;
  void* do_allocate_host(std::size_t bytes, const HostMemoryFlags& flags) override {
    return known_.allocate_host(bytes, flags);
  }
  void do_free_host(void* memory) noexcept override { known_.free_host(memory); }
  void do_register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) override {
    known_.register_host(memory, bytes, flags);
  }
  void do_unregister_host(void* memory) override { known_.unregister_host(memory); }
  void* do_allocate_managed(std::size_t bytes, Attach) override {
    return known_.allocate_managed(bytes);
  }
  void* do_create_array(const ArrayDescriptor& descriptor) override {
    return aligned_memory(descriptor.bytes());
  }
  void do_destroy_array(void* array) noexcept override { release_memory(array); }
  void* do_import_memory(const IpcBytes&) override { refuse_ipc(); }
  void do_close_imported(void*) override { refuse_ipc(); }
  Event do_import_event(const IpcBytes&) override { refuse_ipc(); }
  Stream do_create_stream(StreamOrder order, int) override { return streams_.create(order); }
  void do_destroy_stream(Stream stream) noexcept override { streams_.destroy(stream); }
  Event do_create_event(EventKind kind, bool) override { return new EventState(kind); }
  void do_destroy_event(Event event) noexcept override { delete &state(event); }
  Module do_load_module(const ModuleImage&, LoadLog&) override { refuse_source_kernels(); }
  void do_unload_module(Module) noexcept override {}  // there is none

  static EventState& state(Event event) { return *static_cast<EventState*>(event); }

  const DeviceInfo info_ = machine_info();
  KnownMemory known_;
  PooledBytes pooled_;
  Streams streams_;
  CpuGraphs graphs_{streams_, own_ledger()};
};

void* CpuDevice::do_allocate_pooled(std::size_t bytes, Stream) {
  void* const memory = aligned_memory(bytes);
  if (memory) pooled_.add(bytes);
  return memory;
}

// Work that is queued may still use the memory.
void CpuDevice::do_free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept {
  if (!memory) return;
  const auto release = [this, memory, bytes](const std::exception_ptr&) {
    release_memory(memory);
    pooled_.remove(bytes);
  };
  try {
    streams_.run_always(stream, release);
  } catch (...) {  // no memory to queue it
    if (Queue* queue = Streams::queue(stream)) queue->wait();
    release(nullptr);
  }
}

DriverPoolInfo CpuDevice::driver_pool() { return pooled_.info(); }

bool CpuDevice::query(Event event) {
  require_not_forked();
  const auto mark = state(event).mark();
  return !mark || mark->is_done();
}

void CpuDevice::wait(Event event) {
  require_not_forked();
  if (state(event).carries_errors()) require_usable();
  const auto mark = state(event).mark();
  if (!mark) return;
  mark->wait();
  mark->report();
}

void CpuDevice::fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                     Stream stream) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), pattern, size);
  streams_.run(stream, [=] { fill_now(to, bytes, size, count); });
}

void CpuDevice::fill_rows(void* to, std::size_t pitch, const void* pattern, std::size_t size,
                          std::size_t width, std::size_t height, Stream stream) {
  require<LogicError>(size == 1 || size == 2 || size == 4, [&] {
    return fmt::format("rows are filled with patterns of 1, 2 or 4 bytes, not {}", size);
  });
  if (width == 0) return;
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), pattern, size);
  streams_.run(stream, [=] {
    auto* row = static_cast<std::byte*>(to);
    for (std::size_t i = 0; i < height; ++i, row += pitch) {
      fill_now(row, bytes, size, static_cast<std::int64_t>(width));
    }
  });
}

void CpuDevice::copy_from_peer(void* to, const void* from, const Device& peer, std::size_t bytes,
                               Stream stream, bool blocking) {
  require_cpu(peer, "copies");
  copy({Direction::device_to_device, to, from, bytes}, stream, blocking);
}

void CpuDevice::launch(const KernelCall& call, Workspace&, Stream stream) {
  if (Streams::queue(stream)) {
    keep_loaded(*call.program);
    streams_.run(stream, [call] { run_now(call); });
  } else {
    streams_.run(stream, [&call] { run_now(call); });
  }
}

}  // namespace

void run_now(const KernelCall& call) {
  static constexpr void (*families[])(const KernelCall&) = {
#define QUARRY_FAMILY(name) name##_now,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
  };
  const FloatEnvironment environment;
  families[static_cast<std::size_t>(call.program->kind)](call);
}

}  // namespace cpu_backend

Device& cpu() {
  static auto& device = *[] {
    watch_forks();
    return new cpu_backend::CpuDevice;
  }();
  return device;
}

}  // namespace quarry::backend
