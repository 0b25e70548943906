// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/host_transfer.hpp"

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/registered.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "memory/host/pinned_ranges.hpp"
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

/// What an idle GPU takes to say that it is.
constexpr auto patience = std::chrono::microseconds(30);

/// Whether nothing that was queued before is still to run. An event, since the legacy stream counts
/// work of other streams that a look at the stream alone may not see.
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

/// What the driver does with host memory: it stages copies, or lets the GPU reach it, or refuses to
/// copy it in one piece.
enum class HostKind { pageable, page_locked, split };

/// Page-locked memory of the library is kept until the copy is done; somebody else's is not.
HostKind kind_of(const HostRef& host, const Stream& stream, std::size_t probe_bytes) {
  const auto [first, bytes] = quarry::detail::span_of(host);
  if (const auto buffer = quarry::detail::find_host_buffer(first, bytes)) {
    buffer->used_on(stream);
    return HostKind::page_locked;
  }
  if (is_split(first, bytes)) return HostKind::split;
  if (bytes <= probe_bytes) return HostKind::pageable;
  const backend::PointerInfo info = device_of(stream).pointer_info(first);
  if (info.kind == PointerKind::pageable) return HostKind::pageable;
  const bool is_whole = info.base == 0 || info.bytes == 0 ||
                        reinterpret_cast<std::uintptr_t>(first) + bytes <= info.base + info.bytes;
  return is_whole ? HostKind::page_locked : HostKind::split;
}

TransferInput input_of(const HostRef& host, const DeviceRef& device, const Stream& stream,
                       std::size_t probe_bytes, bool waits, bool down) {
  const HostKind kind = kind_of(host, stream, probe_bytes);
  return {.shape = host.layout.shape,
          .host = host.layout.strides,
          .device = device.layout.strides,
          .itemsize = host.dtype.itemsize(),
          .page_locked = kind == HostKind::page_locked,
          .waits = waits,
          .batches = device_of(stream).has_batched_copies(stream.state().native),
          .down = down,
          .split = kind == HostKind::split};
}

/// One transfer between host memory and the device of `stream`.
class Transfer {
 public:
  Transfer(const HostRef& host, const DeviceRef& device, const Stream& stream, bool waits,
           bool down)
      : stream_(stream),
        backend_(device_of(stream)),
        thresholds_(thresholds_of(backend_)),
        input_(input_of(host, device, stream, thresholds_.probe_bytes, waits, down)),
        plan_(plan_transfer(input_, thresholds_)),
        host_(host.data + plan_.host_offset),
        device_(device.data + plan_.device_offset) {
    if (transfers_are_logged()) log_plan(backend_, down ? "download" : "upload", plan_, input_);
  }

  void up() {
    if (plan_.route == Route::staged) return stage_up();
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    std::byte* const to = holder ? holder->data() : device_;
    const bool last = input_.waits && !holder;
    if (plan_.route == Route::packed) {
      const auto memory = heap();
      memory::pack(plan_.host, host_, 0, plan_.bytes, memory.get());
      copy_bytes(host_to_device, to, memory.get(), last);
    } else {
      copy_locked(host_to_device, to, last);
    }
    if (!holder) return;
    try {
      unpack(to);
    } catch (...) {
      if (input_.waits) synchronize(stream_);  // the caller may drop the host memory now
      throw;
    }
    if (input_.waits) synchronize(stream_);
  }

  void down() {
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    std::byte* const from = holder ? holder->data() : device_;
    if (holder) pack(from);
    if (plan_.route == Route::staged) return stage_down(from);
    if (plan_.route != Route::packed) return copy_locked(device_to_host, from, input_.waits);
    const auto memory = heap();
    copy_bytes(device_to_host, from, memory.get(), true);
    memory::unpack(plan_.host, host_, 0, plan_.bytes, memory.get());
  }

 private:
  using Heap = std::unique_ptr<std::byte[]>;
  Heap heap() const { return std::make_unique_for_overwrite<std::byte[]>(plan_.bytes); }

  /// Memory for the packed bytes if they cannot land where they belong.
  std::shared_ptr<Buffer> temporary(const Stream& home) const {
    return plan_.lands ? nullptr : Buffer::allocate(plan_.bytes, home);
  }
  void unpack(const std::byte* from) const {
    copy_strided(device_, {plan_.packed.shape, plan_.device}, from, plan_.packed.strides,
                 input_.itemsize, stream_);
  }
  void pack(std::byte* to) const {
    copy_strided(to, plan_.packed, device_, plan_.device, input_.itemsize, stream_);
  }

  void copy_bytes(backend::Direction direction, std::byte* on_device, std::byte* on_host,
                  bool waits) const {
    const bool up = direction == host_to_device;
    backend_.copy({direction, up ? on_device : on_host, up ? on_host : on_device, plan_.bytes},
                  stream_.state().native, waits);
  }

  /// The copy engine reads or writes the host memory as it lies.
  void copy_locked(backend::Direction direction, std::byte* on_device, bool waits) const {
    if (plan_.route == Route::direct) return copy_bytes(direction, on_device, host_, waits);
    if (plan_.route == Route::batch) return copy_pieces(direction, on_device, waits);
    const Rectangle& r = *plan_.rectangle;
    const bool up = direction == host_to_device;
    backend_.copy({.direction = direction,
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

  void copy_pieces(backend::Direction direction, std::byte* on_device, bool waits) const {
    std::vector<backend::Piece> pieces;
    pieces.reserve(plan_.bytes / plan_.host.run);
    for_each_run(plan_.host, host_, [&](std::byte* run) {
      pieces.push_back(direction == host_to_device
                           ? backend::Piece{on_device, run, plan_.host.run}
                           : backend::Piece{run, on_device, plan_.host.run});
      on_device += plan_.host.run;
    });
    backend_.copy_batch(direction, pieces, stream_.state().native);
    if (waits) synchronize(stream_);
  }

  StagedCopy staged(backend::Direction direction, std::byte* on_device) const {
    return {&backend_, direction, on_device, host_, &plan_.host};
  }

  void stage_up() {
    const Stream beside = StagingPool::of(backend_).stream(host_to_device);
    if (!input_.waits && (!plan_.lands || !is_idle(stream_)) && stage_up_later(beside)) return;
    const std::shared_ptr<Buffer> holder = temporary(stream_);
    synchronize(stream_);
    std::byte* const to = holder ? holder->data() : device_;
    run_staged(staged(host_to_device, to), beside);
    finish_up(beside);
    if (!holder) return;
    unpack(to);
    if (input_.waits) synchronize(stream_);
  }

  /// The caller does not wait for what the stream still has to do: the bytes go into memory of
  /// their own on the device, and from there when the stream gets there. False: the device has no
  /// memory for that, but does not need any either.
  bool stage_up_later(const Stream& beside) {
    std::shared_ptr<Buffer> holder;
    try {
      holder = Buffer::allocate(plan_.bytes, beside);
    } catch (const MemoryError&) {
      if (!plan_.lands) throw;
      return false;
    }
    run_staged(staged(host_to_device, holder->data()), beside);
    holder->used_on(stream_);
    join(stream_, beside);
    if (plan_.lands) {
      backend_.copy({device_to_device, device_, holder->data(), plan_.bytes},
                    stream_.state().native, false);
    } else {
      unpack(holder->data());
    }
    return true;
  }

  /// What the pool's stream has queued comes before what `stream_` does next.
  void finish_up(const Stream& beside) const {
    if (input_.waits) return synchronize(beside);
    try {
      join(stream_, beside);
    } catch (...) {
      synchronize(beside);
      throw;
    }
  }

  void stage_down(std::byte* from) {
    const StagedCopy copy = staged(device_to_host, from);
    if (!input_.waits && download_later(copy, stream_)) return;
    synchronize(stream_);
    run_staged(copy, StagingPool::of(backend_).stream(device_to_host));
  }

  const Stream& stream_;
  backend::Device& backend_;
  const TransferThresholds thresholds_;
  const TransferInput input_;
  const TransferPlan plan_;
  std::byte* const host_;
  std::byte* const device_;
};

/// One half of the longest axis of both sides.
struct Halves {
  HostRef host;
  DeviceRef device;

  Halves(const HostRef& h, const DeviceRef& d, int which) : host(h), device(d) {
    const Shape& shape = h.layout.shape;
    const auto axis =
        static_cast<std::size_t>(std::max_element(shape.begin(), shape.end()) - shape.begin());
    const std::int64_t middle = shape[axis] / 2;
    const std::int64_t extent = which == 0 ? middle : shape[axis] - middle;
    host.layout.shape[axis] = device.layout.shape[axis] = extent;
    if (which == 0) return;
    host.data += middle * h.layout.strides[axis];
    device.data += middle * d.layout.strides[axis];
  }
};

/// The transfer, in halves if the device has not the memory that it takes to rearrange the whole.
void carry(const HostRef& host, const DeviceRef& device, const Stream& stream, bool waits,
           bool down) {
  constexpr std::int64_t least = std::int64_t{1} << 20;
  try {
    Transfer transfer(host, device, stream, waits, down);
    return down ? transfer.down() : transfer.up();
  } catch (const MemoryError&) {
    if (byte_count(host.layout.shape, host.dtype.itemsize()) < 2 * least) throw;
  }
  for (const int which : {0, 1}) {
    const Halves half(host, device, which);
    carry(half.host, half.device, stream, waits, down);
  }
}

}  // namespace

void carry_up(const DeviceRef& to, const HostRef& from, const Stream& stream, bool waits) {
  carry(from, to, stream, waits, false);
}

void carry_down(const HostRef& to, const DeviceRef& from, const Stream& stream, bool waits) {
  carry(to, from, stream, waits, true);
}

}  // namespace quarry::memory
