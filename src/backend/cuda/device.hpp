// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>

#include "backend/backend.hpp"
#include "backend/cuda/context.hpp"
#include "backend/cuda/kernel.hpp"

/// A GPU behind backend.hpp: thin calls of the driver. Memory and streams are in device.cpp, copies
/// in copy.cpp, fills in fill.cpp, kernels in launch.cpp.
namespace quarry::backend::cuda {

class CudaDevice final : public Device {
 public:
  /// The GPU with this ordinal; takes no context. Throws what the driver reports.
  explicit CudaDevice(int id);

  const DeviceInfo& info() const override { return info_; }
  std::map<std::string, std::int64_t> attributes() const override;
  MemoryInfo memory_info() override;
  bool can_access_peer(const Device& other) const override;
  void synchronize() override;
  void reset() override;

  void* allocate(std::size_t bytes) override;
  void free(void* memory, std::size_t bytes) noexcept override;

  Stream create_stream(const StreamOptions& options) override;
  void destroy_stream(Stream stream) noexcept override;
  std::pair<int, int> priority_range() const override;
  Stream legacy_stream() const override { return CU_STREAM_LEGACY; }
  Stream per_thread_stream() const override { return CU_STREAM_PER_THREAD; }
  void synchronize(Stream stream) override;
  bool is_done(Stream stream) override;
  void host_call(Stream stream, HostFunction f, void* state) override;

  Event create_event(const EventOptions& options) override;
  void destroy_event(Event event) noexcept override;
  void record(Event event, Stream stream) override;
  bool query(Event event) override;
  void wait(Event event) override;
  void wait(Stream stream, Event event) override;
  float elapsed_ms(Event start, Event end) override;

  void copy(const Copy& copy, Stream stream, bool blocking) override;
  void fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
            Stream stream) override;

  void map(const MapCall& call, Stream stream) override;
  std::size_t reduce_scratch(const ReduceCall& call) const override;
  void reduce(const ReduceCall& call, void* scratch, Stream stream) override;

 private:
  void map_flat(const MapCall& call, int backwards, Stream stream) const;
  void map_strided(const MapCall& call, int backwards, Stream stream) const;
  int attribute(CUdevice_attribute name) const;
  KernelTarget target() const {
    return {info_.id, context_.generation(), info_.compute_capability};
  }

  CUdevice device_ = 0;
  DeviceInfo info_;
  int multiprocessors_ = 1;
  std::atomic<unsigned> maps_ = 0;  ///< launched so far: every second one runs backwards
  mutable Context context_;
};

}  // namespace quarry::backend::cuda
