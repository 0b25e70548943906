// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/host_transfer.hpp"

#include <quarry/base/error.hpp>
#include <quarry/memory/registered.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "memory/resource/stream_order.hpp"
#include "memory/staged/async_download.hpp"
#include "memory/staged/staging.hpp"
#include "memory/staged/staging_pool.hpp"
#include "memory/staged/thresholds.hpp"
#include "memory/transfer/plan_log.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "runtime/stream_state.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

backend::Device& device_of(const Stream& stream) { return *stream.state().device; }

/// The time that an idle GPU takes to complete an event.
constexpr auto patience = std::chrono::microseconds(30);

/// Whether all work queued before is done. Uses an event, since a query of the legacy stream may
/// not include the work of other streams.
bool is_idle(const Stream& stream) {
  backend::Device& device = device_of(stream);
  const detail::ScopedEvent event(device);
  event.record(stream.state().native);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!event.query()) {
    if (std::chrono::steady_clock::now() >= end) return false;
  }
  return true;
}

/// How the driver treats host memory: it stages copies, or lets the GPU access it, or refuses to
/// copy it in one piece.
enum class HostKind { pageable, page_locked, split };

/// Queries the driver for large memory that the library does not know.
HostKind kind_of(const HostRef& host, const KnownMemory& known, backend::Device& device,
                 std::size_t probe_bytes) {
  if (known.page_locked) return HostKind::page_locked;
  if (known.is_split) return HostKind::split;
  const auto [first, bytes] = quarry::detail::span_of(host);
  if (bytes <= probe_bytes) return HostKind::pageable;
  const backend::PointerInfo info = device.pointer_info(first);
  if (info.kind == PointerKind::pageable) return HostKind::pageable;
  const bool is_whole = info.base == 0 || info.bytes == 0 ||
                        reinterpret_cast<std::uintptr_t>(first) + bytes <= info.base + info.bytes;
  return is_whole ? HostKind::page_locked : HostKind::split;
}

TransferInput input_of(const HostCopy& copy, const KnownMemory& known, const Stream& stream,
                       std::size_t probe_bytes) {
  backend::Device& device = device_of(stream);
  const HostKind kind = kind_of(copy.host, known, device, probe_bytes);
  return {
      .page_locked = kind == HostKind::page_locked,
      .batches = !stream.state().is_captured() && device.has_batched_copies(stream.state().native),
      .split = kind == HostKind::split};
}

/// One transfer between host memory and the device of `stream`.
class Transfer {
 public:
  /// Throws LogicError if it is captured and goes through other memory of the host.
  Transfer(const HostCopy& copy, const KnownMemory& known, const Stream& stream)
      : copy_(copy),
        stream_(stream),
        backend_(device_of(stream)),
        thresholds_(thresholds_of(backend_)),
        input_(input_of(copy, known, stream, thresholds_.probe_bytes)),
        plan_(plan_transfer(copy, input_, thresholds_)),
        host_(copy.host.data),
        device_(copy.device.data) {
    const bool is_direct = plan_.route == Route::direct || plan_.route == Route::rectangle;
    require<LogicError>(is_direct || !stream.state().is_captured(), [&] {
      return fmt::format(
          "a copy of host memory in runs of {} bytes, which the host packs, cannot be captured "
          "into a graph",
          plan_.packed.walk.run);
    });
    // the library's own memory is kept until the copy is done; other memory is not
    if (known.page_locked) known.page_locked->used_on(stream);
    if (transfers_are_logged()) log_plan(backend_, copy, input_, plan_, thresholds_);
  }

  void up() {
    if (plan_.route == Route::staged) return stage_up();
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    std::byte* const to = holder ? holder->data() : device_;
    const bool last = copy_.waits && !holder;
    if (plan_.route == Route::packed) {
      const auto memory = heap();
      memory::pack(plan_.packed.walk, host_, 0, plan_.packed.bytes, memory.get());
      copy_bytes(to, memory.get(), last);
    } else {
      copy_locked(to, last);
    }
    if (!holder) return;
    try {
      unpack(to);
    } catch (...) {
      if (copy_.waits) synchronize(stream_);  // the caller may drop the host memory now
      throw;
    }
    if (copy_.waits) synchronize(stream_);
  }

  void down() {
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    std::byte* const from = holder ? holder->data() : device_;
    if (holder) pack(from);
    if (plan_.route == Route::staged) return stage_down(from);
    if (plan_.route != Route::packed) return copy_locked(from, copy_.waits);
    const auto memory = heap();
    copy_bytes(from, memory.get(), true);
    memory::unpack(plan_.packed.walk, host_, 0, plan_.packed.bytes, memory.get());
  }

 private:
  using Heap = std::unique_ptr<std::byte[]>;
  Heap heap() const { return std::make_unique_for_overwrite<std::byte[]>(plan_.packed.bytes); }

  /// Device memory for the packed bytes if they cannot be copied directly to their destination.
  std::shared_ptr<Buffer> temporary(const Stream& home) const {
    return plan_.lands ? nullptr : Buffer::allocate(plan_.packed.bytes, home);
  }
  void unpack(const std::byte* from) const {
    copy_strided(device_, copy_.device.layout, {from, &plan_.packed.layout},
                 copy_.host.dtype.itemsize(), stream_);
  }
  void pack(std::byte* to) const {
    copy_strided(to, plan_.packed.layout, {device_, &copy_.device.layout},
                 copy_.host.dtype.itemsize(), stream_);
  }

  void copy_bytes(std::byte* on_device, std::byte* on_host, bool waits) const {
    const bool up = copy_.is_up();
    backend_.copy(
        {copy_.direction, up ? on_device : on_host, up ? on_host : on_device, plan_.packed.bytes},
        stream_.state().native, waits);
  }

  /// The copy engine reads or writes the host memory directly.
  void copy_locked(std::byte* on_device, bool waits) const {
    if (plan_.route == Route::direct) return copy_bytes(on_device, host_, waits);
    if (plan_.route == Route::batch) return copy_pieces(on_device, waits);
    const Rectangle& r = *plan_.rectangle;
    const bool up = copy_.is_up();
    backend_.copy({.direction = copy_.direction,
                   .to = up ? on_device : host_,
                   .from = up ? host_ : on_device,
                   .bytes = r.bytes,
                   .rows = r.rows,
                   .to_pitch = up ? r.device_pitch : r.host_pitch,
                   .from_pitch = up ? r.host_pitch : r.device_pitch,
                   .slices = r.slices,
                   .to_slice = up ? r.device_slice : r.host_slice,
                   .from_slice = up ? r.host_slice : r.device_slice},
                  stream_.state().native, waits);
  }

  void copy_pieces(std::byte* on_device, bool waits) const {
    std::vector<backend::Piece> pieces;
    pieces.reserve(plan_.packed.bytes / plan_.packed.walk.run);
    for_each_run(plan_.packed.walk, host_, [&](std::byte* run) {
      pieces.push_back(copy_.is_up() ? backend::Piece{on_device, run, plan_.packed.walk.run}
                                     : backend::Piece{run, on_device, plan_.packed.walk.run});
      on_device += plan_.packed.walk.run;
    });
    backend_.copy_batch(copy_.direction, pieces, stream_.state().native);
    if (waits) synchronize(stream_);
  }

  StagedCopy staged(std::byte* on_device) const {
    return {&backend_,          copy_.direction, on_device,  host_,
            &plan_.packed.walk, &thresholds_,    copy_.waits};
  }

  void stage_up() {
    const Stream beside = StagingPool::of(backend_).stream(host_to_device);
    if (!copy_.waits && (!plan_.lands || !is_idle(stream_)) && stage_up_later(beside)) return;
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    synchronize(stream_);
    std::byte* const to = holder ? holder->data() : device_;
    run_staged(staged(to), beside);
    if (!copy_.waits) finish_up(beside);
    if (!holder) return;
    unpack(to);
    if (copy_.waits) synchronize(stream_);
  }

  /// For callers that do not wait for the stream: the bytes go into temporary device memory, and
  /// from there to their destination when the stream reaches this point. False: the device has no
  /// memory for that, and a direct copy is possible.
  bool stage_up_later(const Stream& beside) {
    std::shared_ptr<Buffer> holder;
    try {
      holder = Buffer::allocate(plan_.packed.bytes, beside);
    } catch (const MemoryError&) {
      if (!plan_.lands) throw;
      return false;
    }
    run_staged(staged(holder->data()), beside);
    holder->used_on(stream_);
    join(stream_, beside);
    if (plan_.lands) {
      backend_.copy({device_to_device, device_, holder->data(), plan_.packed.bytes},
                    stream_.state().native, false);
    } else {
      unpack(holder->data());
    }
    return true;
  }

  /// `stream_` waits for the work of the pool's stream.
  void finish_up(const Stream& beside) const {
    try {
      join(stream_, beside);
    } catch (...) {
      synchronize(beside);
      throw;
    }
  }

  void stage_down(std::byte* from) {
    const StagedCopy copy = staged(from);
    if (!copy_.waits && download_later(copy, stream_)) return;
    synchronize(stream_);
    run_staged(copy, StagingPool::of(backend_).stream(device_to_host));
  }

  const HostCopy& copy_;
  const Stream& stream_;
  backend::Device& backend_;
  const TransferThresholds thresholds_;
  const TransferInput input_;
  const TransferPlan plan_;
  std::byte* const host_;
  std::byte* const device_;
};

/// One half of the longest axis of both sides.
HostCopy half_of(const HostCopy& copy, bool is_second) {
  HostRef host = copy.host;
  DeviceRef device = copy.device;
  const Shape& shape = copy.host.layout.shape;
  const auto axis =
      static_cast<std::size_t>(std::max_element(shape.begin(), shape.end()) - shape.begin());
  const std::int64_t middle = shape[axis] / 2;
  const std::int64_t extent = is_second ? shape[axis] - middle : middle;
  host.layout.shape[axis] = device.layout.shape[axis] = extent;
  if (is_second) {
    host.data += middle * host.layout.strides[axis];
    device.data += middle * device.layout.strides[axis];
  }
  return {copy.direction, host, device, copy.waits};
}

}  // namespace

/// In halves if the device does not have the memory to reorder the whole.
void carry(const HostCopy& copy, const KnownMemory& known, const Stream& stream) {
  constexpr std::size_t least = std::size_t{1} << 20;
  try {
    Transfer transfer(copy, known, stream);
    return copy.is_up() ? transfer.up() : transfer.down();
  } catch (const MemoryError&) {
    if (copy.bytes() < 2 * least) throw;
  }
  for (const bool is_second : {false, true}) {
    const HostCopy half = half_of(copy, is_second);
    carry(half, known_memory(half.host), stream);
  }
}

}  // namespace quarry::memory
