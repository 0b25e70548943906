// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/driver_resources.hpp>

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <new>

#include "memory/resource/deferred.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/callback.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

/// The minimum alignment of the drivers; larger ones need a pool.
constexpr std::size_t given_alignment = 256;

void require_alignment(const std::string& name, std::size_t alignment, std::size_t most) {
  require<LogicError>(std::has_single_bit(alignment) && alignment <= most, [&] {
    return fmt::format("the {} resource: alignment {} is not a power of two up to {}", name,
                       alignment, most);
  });
}

[[noreturn]] void refuse(const std::string& name, backend::Device& device, std::size_t bytes) {
  throw MemoryError(fmt::format("{} on {}", name, to_string(Device(device))),
                    memory::with_device({.requested = bytes}, device));
}

/// Whole words of 16 bytes: kernels on GPUs read small elements by such words
/// (kernels/map_tiled.cuh), the last ones of an array too.
std::size_t in_words(std::size_t bytes, const backend::Device& device) {
  constexpr std::size_t word = 16, most = std::numeric_limits<std::size_t>::max() - word;
  if (device.info().is_cpu || bytes > most) return bytes;
  return (bytes + word - 1) / word * word;
}

/// A resource that calls the backend, as `Kind` defines.
template <class Kind>
class Upstream final : public Resource::Interface {
 public:
  explicit Upstream(Kind kind) : kind_(std::move(kind)) {}

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) override {
    require_alignment(Kind::name, alignment, Kind::most_alignment);
    require<LogicError>(stream.device() == device(), [&] {
      return fmt::format("the {} resource of {} was asked for memory for a stream of {}",
                         Kind::name, to_string(device()), to_string(stream.device()));
    });
    if (bytes == 0) return nullptr;
    void* const memory = memory::with_relief(
        kind_.device, bytes, [&] { return kind_.allocate(stream, bytes, alignment); });
    if (!memory) refuse(Kind::name, kind_.device, bytes);
    return memory;
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept override {
    if (!memory) return;
    if (detail::is_in_callback()) [[unlikely]]
      return deallocate_later(stream, others, memory, bytes, alignment);
    kind_.deallocate(stream, others, memory, bytes, alignment);
  }
  MemorySpace space() const override { return Kind::space; }
  Device device() const override { return Device(kind_.device); }
  std::string name() const override { return Kind::name; }
  void trim() override {
    if constexpr (requires { kind_.trim(); }) kind_.trim();
  }

 private:
  void deallocate_later(const Stream& stream, std::span<const Stream> others, void* memory,
                        std::size_t bytes, std::size_t alignment) noexcept {
    detail::call_later([&] {
      return [=, kind = kind_, more = std::vector<Stream>(others.begin(), others.end())] {
        kind.deallocate(stream, more, memory, bytes, alignment);
      };
    });
  }

  Kind kind_;
};

struct OfDevice {
  static constexpr const char* name = "device";
  static constexpr MemorySpace space = MemorySpace::device;
  static constexpr std::size_t most_alignment = given_alignment;
  backend::Device& device;

  void* allocate(const Stream&, std::size_t bytes, std::size_t) const {
    return device.allocate(in_words(bytes, device));
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t) const noexcept {
    if (device.info().is_cpu) memory::wait_quietly(stream, others);  // the driver's free waits
    memory::free_device_memory(device, memory, bytes);
  }
};

struct OfDriverPool {
  static constexpr const char* name = "driver_pool";
  static constexpr MemorySpace space = MemorySpace::device;
  static constexpr std::size_t most_alignment = given_alignment;
  backend::Device& device;

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t) const {
    require<LogicError>(!stream.state().is_captured(),
                        "the driver_pool resource: in a stream whose work is captured the driver "
                        "would make memory that belongs to the graph");
    return device.allocate_pooled(in_words(bytes, device), stream.state().native);
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t) const noexcept {
    detail::join_streams(stream, others);
    device.free_pooled(memory, bytes, stream.state().native);
  }
  void trim() const { device.trim_driver_pool(0); }
};

/// The driver's frees of host memory do not guarantee to wait for streams.
template <MemorySpace where>
struct OfHost {
  static constexpr const char* name = where == MemorySpace::mapped ? "mapped" : "pinned";
  static constexpr MemorySpace space = where;
  static constexpr std::size_t most_alignment = given_alignment;
  backend::Device& device;
  HostMemoryOptions options;

  void* allocate(const Stream&, std::size_t bytes, std::size_t) const {
    return device.allocate_host(bytes, {.portable = options.portable,
                                        .mapped = where == MemorySpace::mapped,
                                        .write_combined = options.write_combined});
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory, std::size_t,
                  std::size_t) const noexcept {
    memory::wait_quietly(stream, others);
    memory::free_host_memory(device, memory);
  }
};

struct OfManaged {
  static constexpr const char* name = "managed";
  static constexpr MemorySpace space = MemorySpace::managed;
  static constexpr std::size_t most_alignment = given_alignment;
  backend::Device& device;
  bool attach_global;

  void* allocate(const Stream&, std::size_t bytes, std::size_t) const {
    return device.allocate_managed(in_words(bytes, device),
                                   attach_global ? Attach::global : Attach::host);
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t) const noexcept {
    memory::wait_quietly(stream, others);
    memory::free_device_memory(device, memory, bytes);
  }
};

/// Accepts any stream: the memory belongs to no device.
struct OfProgram {
  static constexpr const char* name = "host";
  static constexpr MemorySpace space = MemorySpace::host;
  static constexpr std::size_t most_alignment = std::size_t{1} << 21;
  backend::Device& device;

  static std::align_val_t at_least(std::size_t alignment) {
    return std::align_val_t{std::max(alignment, given_alignment)};
  }
  void* allocate(const Stream&, std::size_t bytes, std::size_t alignment) const {
    return ::operator new(bytes, at_least(alignment), std::nothrow);
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory, std::size_t,
                  std::size_t alignment) const noexcept {
    memory::wait_quietly(stream, others);
    ::operator delete(memory, at_least(alignment));
  }
};

template <class Kind>
Resource make(Kind kind) {
  return Resource(std::make_shared<Upstream<Kind>>(std::move(kind)));
}

}  // namespace

Resource device_resource(const Device& device) { return make(OfDevice{device.backend()}); }

Resource driver_pool_resource(const Device& device) { return make(OfDriverPool{device.backend()}); }

Resource pinned_resource(const Device& device, const HostMemoryOptions& options) {
  return make(OfHost<MemorySpace::pinned>{device.backend(), options});
}

Resource mapped_resource(const Device& device, const HostMemoryOptions& options) {
  return make(OfHost<MemorySpace::mapped>{device.backend(), options});
}

Resource managed_resource(const Device& device, bool attach_global) {
  return make(OfManaged{device.backend(), attach_global});
}

Resource host_resource() { return make(OfProgram{Device::cpu().backend()}); }

}  // namespace quarry
