// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backend/backend.hpp"
#include "backend/cpu/copy.hpp"
#include "backend/cpu/event.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/machine.hpp"
#include "backend/cpu/stream.hpp"

namespace quarry::backend {
namespace cpu_backend {
namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20;  // a huge page
constexpr std::size_t small_alignment = 256;

class CpuDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::map<std::string, std::int64_t> attributes() const override { return machine_attributes(); }
  MemoryInfo memory_info() override { return machine_memory(); }
  bool can_access_peer(const Device& other) const override { return other.info().is_cpu; }
  void synchronize() override { streams_.synchronize(); }
  /// There is no context to destroy: waits for the streams.
  void reset() override { streams_.synchronize(); }

  void* allocate(std::size_t bytes) override;
  void free(void* memory, std::size_t) noexcept override { std::free(memory); }

  Stream create_stream(const StreamOptions& options) override { return streams_.create(options); }
  void destroy_stream(Stream stream) noexcept override { streams_.destroy(stream); }
  std::pair<int, int> priority_range() const override { return {0, 0}; }
  Stream legacy_stream() const override { return Streams::legacy(); }
  Stream per_thread_stream() const override { return Streams::per_thread(); }
  void synchronize(Stream stream) override { streams_.synchronize(stream); }
  bool is_done(Stream stream) override { return streams_.is_done(stream); }
  void host_call(Stream stream, HostFunction f, void* state) override {
    streams_.run(stream, [=] { f(state); });
  }

  Event create_event(const EventOptions& options) override { return new EventState(options); }
  void destroy_event(Event event) noexcept override { delete &state(event); }
  void record(Event event, Stream stream) override;
  bool query(Event event) override;
  void wait(Event event) override;
  void wait(Stream stream, Event event) override;
  float elapsed_ms(Event start, Event end) override {
    return cpu_backend::elapsed_ms(state(start), state(end));
  }

  void copy(const Copy& copy, Stream stream, bool blocking) override {
    copy_in_order(streams_, copy, stream, blocking);
  }
  void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
            Stream stream) override;

  void map(const MapCall& call, Stream stream) override;
  std::size_t reduce_scratch(const ReduceCall&) const override { return 0; }
  void reduce(const ReduceCall& call, void*, Stream stream) override;

 private:
  static EventState& state(Event event) { return *static_cast<EventState*>(event); }

  const DeviceInfo info_ = machine_info();
  // Linux would promise more than the machine has, and end the process when it is used.
  const std::size_t memory_bytes_ = std::max(machine_memory().total, page_bytes);
  Streams streams_;
};

void* CpuDevice::allocate(std::size_t bytes) {
  const std::size_t alignment = bytes < 2 * page_bytes ? small_alignment : page_bytes;
  if (bytes > memory_bytes_) return nullptr;
  const std::size_t size = (bytes + (bytes == 0) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, size);
  if (memory && alignment == page_bytes) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void CpuDevice::record(Event event, Stream stream) {
  auto mark = std::make_shared<Mark>();
  streams_.run(stream, [mark] { mark->complete(); });
  state(event).set(std::move(mark));
}

bool CpuDevice::query(Event event) {
  const auto mark = state(event).mark();
  return !mark || mark->is_done();
}

void CpuDevice::wait(Event event) {
  if (const auto mark = state(event).mark()) mark->wait();
}

void CpuDevice::wait(Stream stream, Event event) {
  const auto mark = state(event).mark();
  if (mark && !mark->is_done()) streams_.run(stream, [mark] { mark->wait(); });
}

void CpuDevice::fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                     Stream stream) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), pattern, size);
  streams_.run(stream, [=] { fill_now(to, bytes, size, count); });
}

void CpuDevice::map(const MapCall& call, Stream stream) {
  if (Streams::queue(stream))
    streams_.run(stream, [call] { map_now(call); });
  else
    streams_.run(stream, [&call] { map_now(call); });
}

void CpuDevice::reduce(const ReduceCall& call, void*, Stream stream) {
  if (Streams::queue(stream))
    streams_.run(stream, [call] { reduce_now(call); });
  else
    streams_.run(stream, [&call] { reduce_now(call); });
}

}  // namespace
}  // namespace cpu_backend

Device& cpu() {
  static auto& device = *new cpu_backend::CpuDevice;
  return device;
}

}  // namespace quarry::backend
