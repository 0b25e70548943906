// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
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

/// A staged copy of memory in short runs: each thread has its own chunks and buffers.
class ChunkedCopy final : public Job {
 public:
  ChunkedCopy(const StagedCopy& copy, const Stream& stream, std::size_t chunk, Stores stores)
      : Job(blocks_of(copy.walk->bytes(), chunk)),
        copy_(copy),
        pool_(StagingPool::of(*copy.device, StagingPool::Load::short_runs)),
        stream_(stream),
        bytes_(copy.walk->bytes()),
        chunk_(chunk),
        stores_(stores) {}

 private:
  struct Chunk {
    std::size_t first, last;
    std::size_t bytes() const { return last - first; }
  };
  struct Queued {
    Chunk chunk;
    StagingLease buffer;
  };
  static constexpr std::size_t depth = 3;  ///< chunks that one thread has queued at a time

  void do_share(Share& share) override {
    copy_.direction == host_to_device ? up(share) : down(share);
  }

  bool take(Share& share, Chunk& chunk) const {
    std::size_t number;
    if (!share.take(number)) return false;
    const std::size_t first = number * chunk_;
    chunk = {first, std::min(bytes_, first + chunk_)};
    return true;
  }

  std::optional<StagingLease> held(std::optional<StagingBuffer> buffer) {
    return StagingLease::of(pool_, *copy_.device, std::move(buffer));
  }

  void up(Share& share) {
    for (Chunk c; take(share, c);) {
      auto buffer = held(pool_.acquire(chunk_, *copy_.thresholds));
      if (!buffer) {
        up_without_buffer(c);
        continue;
      }
      pack(*copy_.walk, copy_.on_host, c.first, c.last, buffer->memory(), stores_);
      buffer->copy({host_to_device, copy_.on_device + c.first, buffer->memory(), c.bytes()},
                   stream_);
    }
  }

  void down(Share& share) {
    std::deque<Queued> queued;
    for (Chunk c; take(share, c);) {
      auto buffer = lease_beside(queued);
      if (!buffer) {
        down_without_buffer(c);
        continue;
      }
      buffer->copy({device_to_host, buffer->memory(), copy_.on_device + c.first, c.bytes()},
                   stream_);
      queued.push_back({c, std::move(*buffer)});
      if (queued.size() == depth) unpack_first(queued);
    }
    while (!queued.empty()) unpack_first(queued);
  }

  /// Waits only while it holds none: else all buffers could be held by threads that wait for one
  /// more.
  std::optional<StagingLease> lease_beside(std::deque<Queued>& queued) {
    while (!queued.empty()) {
      if (auto buffer = held(pool_.try_acquire(chunk_, *copy_.thresholds))) return buffer;
      unpack_first(queued);
    }
    return held(pool_.acquire(chunk_, *copy_.thresholds));
  }

  void unpack_first(std::deque<Queued>& queued) {
    const Queued& first = queued.front();
    first.buffer.wait();
    unpack(*copy_.walk, copy_.on_host, first.chunk.first, first.chunk.last, first.buffer.memory());
    queued.pop_front();
  }

  void up_without_buffer(const Chunk& c) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(c.bytes());
    pack(*copy_.walk, copy_.on_host, c.first, c.last, memory.get());
    copy_.device->copy({host_to_device, copy_.on_device + c.first, memory.get(), c.bytes()},
                       stream_.state().native, true);
  }
  void down_without_buffer(const Chunk& c) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(c.bytes());
    copy_.device->copy({device_to_host, memory.get(), copy_.on_device + c.first, c.bytes()},
                       stream_.state().native, true);
    unpack(*copy_.walk, copy_.on_host, c.first, c.last, memory.get());
  }

  const StagedCopy copy_;
  StagingPool& pool_;
  const Stream& stream_;
  const std::size_t bytes_, chunk_;
  const Stores stores_;
};

void run_chunks(const StagedCopy& copy, const Stream& stream) {
  const TransferThresholds& t = *copy.thresholds;
  const std::size_t bytes = copy.walk->bytes();
  const Stores stores = bytes <= t.nontemporal_strided_bytes ? Stores::nontemporal : Stores::cached;
  ChunkedCopy(copy, stream, strided_chunk(bytes, t), stores).run(t.strided_threads);
}

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
  return true;
}

}  // namespace

void run_staged(const StagedCopy& copy, const Stream& stream) {
  try {
    if (!copy.walk->has_long_runs() || !run_pipelined(copy, stream)) run_chunks(copy, stream);
  } catch (...) {
    copy.device->synchronize(stream.state().native);
    throw;
  }
}

}  // namespace quarry::memory
