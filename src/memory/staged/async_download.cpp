// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/async_download.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <bit>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "memory/resource/caches.hpp"
#include "memory/staged/chunks.hpp"
#include "memory/staged/job.hpp"
#include "memory/staged/thresholds.hpp"
#include "runtime/stream_lifetime.hpp"
#include "runtime/stream_state.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t most_copy_streams = 4;
constexpr std::size_t one_piece_bytes = std::size_t{64} << 10;
constexpr std::size_t full_pieces = 64;  // of a copy: a driver's queue takes some hundred entries

/// Page-locked buffers and the streams that fill them. They belong to the stream that used them
/// last until that copy is done, so that a download of another stream never waits for it. A
/// StagingPool is not suitable: its number of buffers is fixed, its users wait for them, and a
/// buffer that is still being filled cannot be used; here the stream itself waits for it.
class DownloadStaging {
 public:
  DownloadStaging(backend::Device& device, std::size_t buffer_bytes)
      : device_(device), bytes_(buffer_bytes), done_(device) {
    buffers_.reserve(most_copy_streams);
    copy_streams_.reserve(most_copy_streams);
  }
  /// No copy is pending.
  ~DownloadStaging() {
    for (void* const memory : buffers_) device_.free_host(memory);
  }
  DownloadStaging(const DownloadStaging&) = delete;
  DownloadStaging& operator=(const DownloadStaging&) = delete;

  /// A stream that fills a buffer, and the event of its end.
  struct CopyStream {
    Stream stream;
    detail::ScopedEvent end;
  };

  /// Makes buffers and copy streams for `count` chunks; false if there is no page-locked memory.
  bool prepare(std::size_t count) {
    const std::size_t wanted = std::min(count, most_copy_streams);
    while (buffers_.size() < wanted) {
      void* const memory = device_.allocate_host(bytes_, {.portable = true});
      if (!memory) break;
      buffers_.push_back(static_cast<std::byte*>(memory));
    }
    while (count > 1 && copy_streams_.size() < buffers_.size()) {
      Stream s = detail::created_stream(device_, backend::StreamOrder::behind_events);
      copy_streams_.push_back({std::move(s), detail::ScopedEvent(device_)});
    }
    return !buffers_.empty();
  }

  bool is_usable(const Stream& stream, std::size_t bytes) const {
    return bytes_ == bytes && (last_.lock() == stream.shared() || done_.query());
  }
  /// The copy streams wait for what `stream` has queued.
  void start(const Stream& stream) {
    done_.record(stream.state().native);
    for (const CopyStream& copy_stream : copy_streams_)
      device_.wait(copy_stream.stream.state().native, done_.native());
  }
  /// `stream` waits for what the copy streams have queued.
  void finish(const Stream& stream) {
    for (const CopyStream& copy_stream : copy_streams_) {
      copy_stream.end.record(copy_stream.stream.state().native);
      device_.wait(stream.state().native, copy_stream.end.native());
    }
    done_.record(stream.state().native);
    last_ = stream.shared();
  }
  bool is_of(const backend::Device& device) const { return &device_ == &device; }
  bool is_done() const noexcept {
    try {
      return done_.query();
    } catch (const Error&) {
      return true;  // a lost device: no copy is pending
    }
  }

  const std::vector<std::byte*>& buffers() const { return buffers_; }
  const std::vector<CopyStream>& copy_streams() const { return copy_streams_; }

 private:
  backend::Device& device_;
  const std::size_t bytes_;
  detail::ScopedEvent done_;
  std::vector<std::byte*> buffers_;
  std::vector<CopyStream> copy_streams_;
  std::weak_ptr<detail::StreamState> last_;
};

struct DownloadStagings {
  std::mutex mutex;
  std::map<backend::Device*, std::list<DownloadStaging>> idle;
  std::list<DownloadStaging> lost;  ///< whose completion cannot be observed
  static DownloadStagings& instance() {
    static auto* const stagings = new DownloadStagings;  // outlives the work that is queued at exit
    return *stagings;
  }
};

/// The staging of one copy while it is queued; returned at the end of the scope, also after an
/// error.
class DownloadLease {
 public:
  DownloadLease(backend::Device& device, const Stream& stream, std::size_t buffer_bytes) {
    [[maybe_unused]] static const bool registered = (add_trim(trim_downloads), true);
    DownloadStagings& stagings = DownloadStagings::instance();
    const std::lock_guard lock(stagings.mutex);
    home_ = &stagings.idle[&device];
    const auto found = std::find_if(
        home_->begin(), home_->end(),
        [&](const DownloadStaging& staging) { return staging.is_usable(stream, buffer_bytes); });
    if (found == home_->end()) {
      staging_.emplace_back(device, buffer_bytes);
    } else {
      staging_.splice(staging_.begin(), *home_, found);
    }
  }
  ~DownloadLease() {
    const std::lock_guard lock(DownloadStagings::instance().mutex);
    home_->splice(home_->begin(), staging_);
  }
  DownloadLease(const DownloadLease&) = delete;
  DownloadLease& operator=(const DownloadLease&) = delete;

  DownloadStaging& operator*() { return staging_.front(); }
  DownloadStaging* operator->() { return &staging_.front(); }
  /// The staging is free again when the copy is done. If its completion cannot be observed it is
  /// abandoned.
  void finish(const Stream& stream) {
    try {
      staging_.front().finish(stream);
    } catch (...) {
      home_ = &DownloadStagings::instance().lost;
      throw;
    }
  }

 private:
  std::list<DownloadStaging> staging_;  ///< one
  std::list<DownloadStaging>* home_;
};

std::size_t buffer_bytes_for(std::size_t bytes, std::size_t chunk) {
  if (bytes <= one_piece_bytes) return std::min(one_piece_bytes, chunk);
  return std::max(std::min(chunk, std::bit_ceil(bytes / most_copy_streams)),
                  std::bit_ceil(bytes / full_pieces));
}

/// State shared by the functions that empty buffers.
class DownloadDestination {
 public:
  explicit DownloadDestination(const StagedCopy& copy)
      : walk_(*copy.walk),
        on_host_(copy.on_host),
        block_(copy.thresholds->block_bytes),
        threads_(copy.thresholds->threads) {}

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
             std::min(at + destination_.block_, last_), buffer_ + done);
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
    if (ends.size() == 1) return queue(0, ends[0], staging.buffers()[0], home);
    staging.start(home);
    std::size_t first = 0;
    for (std::size_t k = 0; k < ends.size(); first = ends[k++]) {
      const std::size_t copy_stream = k % staging.copy_streams().size();
      queue(first, ends[k], staging.buffers()[copy_stream],
            staging.copy_streams()[copy_stream].stream);
    }
  }
};

}  // namespace

bool download_later(const StagedCopy& copy, const Stream& stream) {
  backend::Device& device = *copy.device;
  // twice a chunk, since every call of the driver's function costs tens of microseconds
  const std::size_t bytes = copy.walk->bytes(),
                    buffer = buffer_bytes_for(bytes, 2 * copy.thresholds->chunk_bytes);
  const auto ends =
      chunk_ends(bytes, bytes <= buffer ? buffer : buffer / most_copy_streams, buffer);
  const auto destination = std::make_shared<DownloadDestination>(copy);
  DownloadLease staging(device, stream, buffer);
  if (!staging->prepare(ends.size())) return false;
  try {
    Download{copy, destination, stream}.queue_all(ends, *staging);
  } catch (...) {
    destination->cancel();
    staging.finish(stream);
    throw;
  }
  try {
    staging.finish(stream);
  } catch (...) {
    destination->cancel();
    throw;
  }
  return true;
}

void trim_downloads(backend::Device& device) {
  DownloadStagings& stagings = DownloadStagings::instance();
  std::list<DownloadStaging> lost;
  {
    const std::lock_guard lock(stagings.mutex);
    stagings.idle[&device].remove_if(
        [](const DownloadStaging& staging) { return staging.is_done(); });
    for (auto at = stagings.lost.begin(); at != stagings.lost.end();) {
      const auto next = std::next(at);
      if (at->is_of(device)) lost.splice(lost.end(), stagings.lost, at);
      at = next;
    }
  }
  if (lost.empty()) return;
  try {
    device.synchronize();  // then they are done
  } catch (...) {
    const std::lock_guard lock(stagings.mutex);
    stagings.lost.splice(stagings.lost.end(), lost);
    throw;
  }
}

}  // namespace quarry::memory
