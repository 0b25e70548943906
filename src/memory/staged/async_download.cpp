// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/async_download.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "memory/staged/chunks.hpp"
#include "memory/staged/job.hpp"
#include "memory/staged/staging_lease.hpp"
#include "memory/staged/thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t most_parts = 4;
constexpr std::size_t one_piece_bytes = std::size_t{64} << 10;
constexpr std::size_t full_pieces = 64;  // of a copy: a driver's queue takes some hundred entries

/// The buffer of one copy, in parts of equal size, each of them filled in a copy stream of its own;
/// a single part is filled in the copy's stream.
class DownloadStaging {
 public:
  /// Of up to `parts` parts: empty if there is no page-locked memory for even one.
  static std::optional<DownloadStaging> of(backend::Device& device, const Stream& home,
                                           std::size_t part_bytes, std::size_t parts) {
    StagingPool& pool = StagingPool::of(device, StagingPool::Load::queued_downloads);
    for (; parts > 0; --parts) {
      auto lease = StagingLease::of(pool, device, pool.acquire_for(home, parts * part_bytes));
      if (lease) return DownloadStaging(std::move(*lease), home, part_bytes, parts);
    }
    return std::nullopt;
  }

  void start() { lease_.start(home_, streams_); }
  void finish() { lease_.finish(home_, streams_); }
  /// Where the chunk with this number goes, and in which stream.
  std::byte* memory(std::size_t chunk) const {
    return lease_.memory() + chunk % parts_ * part_bytes_;
  }
  const Stream& stream(std::size_t chunk) const {
    return streams_ == 0 ? home_ : lease_.copy_streams()[chunk % parts_].stream;
  }

 private:
  DownloadStaging(StagingLease lease, const Stream& home, std::size_t part_bytes, std::size_t parts)
      : lease_(std::move(lease)),
        home_(home),
        part_bytes_(part_bytes),
        parts_(parts),
        streams_(parts == 1 ? 0 : parts) {
    lease_.make_copy_streams(streams_);
  }

  StagingLease lease_;
  const Stream& home_;
  std::size_t part_bytes_, parts_, streams_;
};

std::size_t part_bytes_for(std::size_t bytes, std::size_t chunk) {
  if (bytes <= one_piece_bytes) return std::min(one_piece_bytes, chunk);
  return std::max(std::min(chunk, std::bit_ceil(bytes / most_parts)),
                  std::bit_ceil(bytes / full_pieces));
}

/// State shared by the functions that empty buffers.
class DownloadDestination {
 public:
  explicit DownloadDestination(const StagedCopy& copy)
      : walk_(*copy.walk),
        on_host_(copy.on_host),
        block_(copy.thresholds->block_bytes),
        threads_(threads_for(*copy.walk, false, *copy.thresholds)),
        stores_(stores_for(*copy.walk, false, *copy.thresholds)) {}

  void unpack_chunk(std::size_t first, std::size_t last, const std::byte* buffer);
  /// The copy has failed: the host memory is not accessed any more.
  void cancel() {
    const std::unique_lock lock(mutex_);
    is_cancelled_ = true;
  }

 private:
  class Chunk;

  const Walk walk_;
  std::byte* const on_host_;
  const std::size_t block_, threads_;
  const Stores stores_;
  std::shared_mutex mutex_;
  bool is_cancelled_ = false;
};

/// A chunk in a buffer, whose blocks the copy threads unpack.
class DownloadDestination::Chunk final : public Job {
 public:
  Chunk(const DownloadDestination& destination, std::size_t first, std::size_t last,
        const std::byte* buffer)
      : Job(blocks_of(last - first, destination.block_)),
        destination_(destination),
        first_(first),
        last_(last),
        buffer_(buffer) {}

 private:
  void do_share(Share& share) override {
    for (std::size_t number; share.take(number);) {
      const std::size_t done = number * destination_.block_, at = first_ + done;
      unpack(destination_.walk_, destination_.on_host_, at,
             std::min(at + destination_.block_, last_), buffer_ + done, destination_.stores_);
    }
  }

  const DownloadDestination& destination_;
  const std::size_t first_, last_;
  const std::byte* const buffer_;
};

void DownloadDestination::unpack_chunk(std::size_t first, std::size_t last,
                                       const std::byte* buffer) {
  const std::shared_lock lock(mutex_);
  if (is_cancelled_) return;
  Chunk(*this, first, last, buffer).run(threads_);
}

/// A copy in chunks; `home` reports errors of unpacking.
struct Download {
  const StagedCopy& copy;
  const std::shared_ptr<DownloadDestination>& destination;
  const Stream& home;

  /// One chunk: into the buffer, and from there to the host.
  void queue(std::size_t first, std::size_t last, std::byte* buffer,
             const Stream& copy_stream) const {
    copy.device->copy(
        {backend::Direction::device_to_host, buffer, copy.on_device + first, last - first},
        copy_stream.state().native, false);
    copy_stream.add_callback(
        [destination = destination, home = home, first, last, buffer](const Stream&) {
          try {
            destination->unpack_chunk(first, last, buffer);
          } catch (...) {
            home.state().keep(std::current_exception());
          }
        });
  }

  void queue_all(const std::vector<std::size_t>& ends, DownloadStaging& staging) const {
    staging.start();
    std::size_t first = 0;
    for (std::size_t k = 0; k < ends.size(); first = ends[k++]) {
      queue(first, ends[k], staging.memory(k), staging.stream(k));
    }
  }
};

}  // namespace

bool download_later(const StagedCopy& copy, const Stream& stream) {
  // twice a chunk, since every call of the driver's function costs tens of microseconds
  const std::size_t bytes = copy.walk->bytes(),
                    part = part_bytes_for(bytes, 2 * copy.thresholds->chunk_bytes);
  const auto ends = chunk_ends(bytes, bytes <= part ? part : part / most_parts, part);
  const auto destination = std::make_shared<DownloadDestination>(copy);
  auto staging = DownloadStaging::of(*copy.device, stream, part, std::min(ends.size(), most_parts));
  if (!staging) return false;
  try {
    Download{copy, destination, stream}.queue_all(ends, *staging);
  } catch (...) {
    destination->cancel();
    staging->finish();
    throw;
  }
  try {
    staging->finish();
  } catch (...) {
    destination->cancel();
    throw;
  }
  return true;
}

}  // namespace quarry::memory
