// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/registered.hpp>

#include <fmt/format.h>

#include <limits>

#include "base/forked.hpp"
#include "memory/host/host_registry.hpp"
#include "memory/host/pinned_ranges.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/callback.hpp"

namespace quarry {
namespace {

using memory::HostRegistry;
using memory::PinnedRanges;

/// Memory of the program that stays page-locked as long as this lives.
class Registration {
 public:
  Registration(const detail::HostSpan& span, const Device& device, const RegisterOptions& options,
               std::shared_ptr<void> base)
      : data_(span.data), base_(std::move(base)), device_(device.backend()) {
    // the driver does not register again memory that the library has allocated page-locked
    inside_ = HostRegistry::instance().find_block(span.data, span.bytes);
    if (inside_ || span.bytes == 0) return;
    // mapping costs nothing, and a later registration of the same bytes may need it
    const backend::HostMemoryFlags flags{
        .portable = options.portable, .mapped = true, .read_only = options.read_only};
    memory::with_relief(device_, span.bytes, [&] {
      segments_ = PinnedRanges::of(device_).lock(span.data, span.bytes, device_, flags);
      return true;
    });
  }
  ~Registration() {
    if (is_forked()) return;
    try {
      PinnedRanges::of(device_).unlock(segments_);
    } catch (...) {  // the context is destroyed, and with it all its registrations
    }
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// The address for kernels. Throws LogicError if it is not contiguous for them.
  void* device_address() const {
    if (inside_) return device_.device_pointer(data_);
    if (segments_.empty()) return data_;
    const std::uintptr_t shift = shift_of(segments_.front());
    for (const std::uintptr_t segment : segments_) {
      require<LogicError>(shift_of(segment) == shift, [&] {
        return fmt::format(
            "the host memory at {} overlaps other registrations, and {} "
            "sees them apart",
            fmt::ptr(data_), to_string(Device(device_)));
      });
    }
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data_) + shift);
  }
  /// The driver copies from and to one registration at a time.
  bool is_one_piece() const { return segments_.size() <= 1; }

 private:
  /// The offset from a segment's host address to its address for kernels.
  std::uintptr_t shift_of(std::uintptr_t segment) const {
    void* const seen = device_.device_pointer(reinterpret_cast<void*>(segment));
    return reinterpret_cast<std::uintptr_t>(seen) - segment;
  }

  std::byte* data_;
  std::shared_ptr<void> base_;
  backend::Device& device_;
  std::shared_ptr<Buffer> inside_;
  PinnedRanges::Segments segments_;
};

/// What happens to a registered buffer at its end.
struct Release {
  std::shared_ptr<Registration> registration;
  std::byte* data;
  void operator()(Buffer* buffer) const noexcept {
    HostRegistry::instance().remove_range(data, buffer);
    if (!detail::is_in_callback()) return unlock(buffer);
    detail::call_later([&] { return [last = *this, buffer] { last.unlock(buffer); }; });
  }
  void unlock(Buffer* buffer) const noexcept {
    memory::wait_quietly(buffer->stream(), buffer->last_streams());
    delete buffer;
  }
};

void require_range(const detail::HostSpan& span) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  const auto address = reinterpret_cast<std::uintptr_t>(span.data);
  require<LogicError>(span.bytes == 0 || span.data != nullptr,
                      [&] { return fmt::format("{} bytes of host memory at 0", span.bytes); });
  require<SizeOverflow>(span.bytes <= most && address <= most - span.bytes, [&] {
    return fmt::format("{} bytes of host memory at {}", span.bytes, fmt::ptr(span.data));
  });
}

}  // namespace

namespace detail {

HostSpan span_of(const HostRef& array) {
  const ByteBounds bounds = byte_bounds(array.layout, array.dtype.itemsize());
  return {array.data + bounds.lowest, static_cast<std::size_t>(bounds.past - bounds.lowest)};
}

std::shared_ptr<Buffer> registered_buffer(const HostSpan& span, const Stream& home,
                                          const RegisterOptions& options,
                                          std::shared_ptr<void> base) {
  require_range(span);
  const Device device = options.device.value_or(home.device());
  auto registration = std::make_shared<Registration>(span, device, options, std::move(base));
  void* const seen = options.mapped ? registration->device_address() : span.data;
  const bool is_listed = span.bytes > 0 && registration->is_one_piece();
  const MemorySpace space = options.mapped ? MemorySpace::mapped : MemorySpace::pinned;
  std::shared_ptr<Buffer> buffer(new Buffer(seen, span.bytes, home, nullptr, space),
                                 Release{std::move(registration), span.data});
  if (is_listed) HostRegistry::instance().add_range(span.data, span.bytes, buffer);
  return buffer;
}

}  // namespace detail

RegisteredHostMemory::RegisteredHostMemory(void* data, std::size_t bytes,
                                           const RegisterOptions& options,
                                           std::shared_ptr<void> base)
    : data_(static_cast<std::byte*>(data)),
      bytes_(bytes),
      is_mapped_(options.mapped),
      base_(std::move(base)) {
  RegisterOptions chosen = options;
  chosen.device = options.device.value_or(Device());
  const Device home = is_mapped_ ? *chosen.device : Device::cpu();
  buffer_ = detail::registered_buffer({data_, bytes_}, default_stream(home), chosen, base_);
}

RegisteredHostMemory::~RegisteredHostMemory() = default;

void RegisteredHostMemory::unregister() {
  require<LogicError>(is_registered(), [&] {
    return fmt::format("unregister: the {} bytes at {} are not registered any more", bytes_,
                       fmt::ptr(data_));
  });
  require<LogicError>(!detail::is_in_callback(),
                      "unregister: a function that a stream calls on the host may not wait for the "
                      "streams that have used the memory");
  buffer_.reset();
}

std::byte* RegisteredHostMemory::device_pointer() const {
  require<LogicError>(is_mapped_ && is_registered(), [&] {
    return fmt::format("device_pointer: the {} bytes at {} are not registered as mapped", bytes_,
                       fmt::ptr(data_));
  });
  return buffer_->data();
}

PinnedScope::PinnedScope(const std::vector<HostRef>& arrays, const RegisterOptions& options) {
  arrays_.reserve(arrays.size());
  for (const HostRef& array : arrays) {
    const detail::HostSpan span = detail::span_of(array);
    arrays_.emplace_back(span.data, span.bytes, options);
  }
}

}  // namespace quarry
