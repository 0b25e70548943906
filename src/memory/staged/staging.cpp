// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "memory/staged/chunks.hpp"
#include "memory/staged/job.hpp"
#include "memory/staged/pipelined_copy.hpp"
#include "memory/staged/staging_lease.hpp"
#include "memory/staged/thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

/// Without page-locked memory: every thread packs or unpacks chunks that the driver copies.
class UnstagedCopy final : public Job {
 public:
  UnstagedCopy(const StagedCopy& copy, const Stream& stream)
      : Job(blocks_of(copy.walk->bytes(), copy.thresholds->chunk_bytes)),
        copy_(copy),
        stream_(stream) {}

 private:
  void do_share(Share& share) override {
    const std::size_t bytes = copy_.walk->bytes(), chunk = copy_.thresholds->chunk_bytes;
    for (std::size_t number; share.take(number);) {
      const std::size_t first = number * chunk;
      copy(first, std::min(bytes, first + chunk));
    }
  }

  void copy(std::size_t first, std::size_t last) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(last - first);
    std::byte* const on_device = copy_.on_device + first;
    if (copy_.direction == host_to_device) {
      copy_.take(first, last, memory.get(), Stores::cached);
      carry({host_to_device, on_device, memory.get(), last - first});
    } else {
      carry({device_to_host, memory.get(), on_device, last - first});
      unpack(*copy_.walk, copy_.on_host, first, last, memory.get());
    }
  }
  void carry(const backend::Copy& chunk) {
    copy_.device->copy(chunk, stream_.state().native, true);
  }

  const StagedCopy copy_;
  const Stream& stream_;
};

/// False if no page-locked memory can be allocated.
bool run_pipelined(const StagedCopy& copy, const Stream& stream) {
  const TransferThresholds& t = *copy.thresholds;
  StagingPool& pool = StagingPool::of(*copy.device);
  const auto ends = chunk_ends(copy.walk->bytes(), t.least_chunk, t.chunk_bytes);
  const std::size_t wanted = std::min(ends.size(), t.pipeline_buffers);
  std::vector<StagingLease> buffers;
  buffers.reserve(wanted);
  auto buffer = pool.acquire(t.chunk_bytes, t);
  while (buffer) {
    buffers.push_back(*StagingLease::of(pool, *copy.device, std::move(buffer)));
    if (buffers.size() == wanted) break;
    buffer = pool.try_acquire(t.chunk_bytes, t);
  }
  if (buffers.empty()) return false;
  PipelinedCopy(copy, stream, buffers, ends).run();
  if (!copy.waits || copy.direction == device_to_host) return true;
  copy.device->synchronize(stream.state().native);
  for (StagingLease& lease : buffers) lease.rest();
  return true;
}

}  // namespace

void run_staged(const StagedCopy& copy, const Stream& stream) {
  try {
    if (!run_pipelined(copy, stream)) UnstagedCopy(copy, stream).run(copy.thresholds->threads);
  } catch (...) {
    copy.device->synchronize(stream.state().native);
    throw;
  }
}

}  // namespace quarry::memory
