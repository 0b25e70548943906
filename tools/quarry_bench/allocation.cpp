// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/allocation.hpp"

#include <quarry/memory/buffer.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

namespace bench {

namespace {

/// Always the same 64 KiB, the most that a workload touches.
struct Nothing {
  std::shared_ptr<quarry::Buffer> memory;
  void* allocate(const quarry::Stream&, std::size_t, std::size_t) { return memory->data(); }
  void deallocate(const quarry::Stream&, void*, std::size_t, std::size_t) noexcept {}
  quarry::MemorySpace space() const { return quarry::MemorySpace::device; }
  quarry::Device device() const { return memory->device(); }
};

}  // namespace

std::vector<Candidate> candidates(const quarry::Device& device) {
  std::vector<Candidate> list;
  list.push_back({"pool", quarry::Pool(quarry::device_resource(device))});
  if (!device.is_cpu()) list.push_back({"driver_pool", quarry::driver_pool_resource(device)});
  list.push_back({"device", quarry::device_resource(device), !device.is_cpu()});
  list.push_back({"nothing", Nothing{quarry::Buffer::allocate(std::size_t{64} << 10,
                                                              quarry::default_stream(device),
                                                              quarry::device_resource(device))}});
  return list;
}

AllocationRow unmeasured(const Workload& workload, const Candidate& candidate) {
  return {.workload = workload.name,
          .group = workload.group,
          .title = workload.title,
          .per = workload.per,
          .parameter = workload.parameter,
          .resource = candidate.name,
          .error = {}};
}

AllocationRow measure(const Workload& workload, const Candidate& candidate,
                      const Sampling& sampling) {
  AllocationRow row = unmeasured(workload, candidate);
  try {
    const Sample sample = workload.prepare(candidate);
    row.seconds = median(take_samples(sample, sampling));
  } catch (const std::exception& error) {
    row.error = error.what();
  }
  candidate.resource.trim();
  return row;
}

}  // namespace bench
