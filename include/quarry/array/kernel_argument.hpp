// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/device_pointer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

/// What a kernel takes: numbers and structs by value, arrays and device memory by address, textures
/// and surfaces by their handles, and host arrays through In, Out and InOut.
namespace quarry {

/// A host array for one launch, copied to the device before it. A launch with a host array returns
/// when all is done. Refers to the host array, as Out and InOut do.
template <class H>
struct In {
  const H& host;  ///< a HostArray
  /// Copies nothing yet.
  explicit In(const H& array) : host(array) {}
};
/// A host array that is copied from the device after the launch.
template <class H>
struct Out {
  H& host;  ///< a writable HostArray
  /// Copies nothing yet.
  explicit Out(H& array) : host(array) {}
};
/// A host array that is copied to the device before the launch and back after it.
template <class H>
struct InOut {
  H& host;  ///< a writable HostArray
  /// Copies nothing yet.
  explicit InOut(H& array) : host(array) {}
};

namespace detail {

/// One argument as the driver takes it, and the memory that it refers to.
struct KernelArgument {
  const void* value;  ///< its bytes
  std::size_t bytes;
  const Buffer* memory = nullptr;            ///< of an address
  const DeviceNDArrayBase* array = nullptr;  ///< of an array, whose stream counts
  bool is_written = false;                   ///< whether the kernel may write the memory
};

template <class A>
struct KernelValue {
  static_assert(std::is_trivially_copyable_v<A> && !std::is_array_v<A>,
                "a kernel takes arrays on the device, numbers and structs that can be copied byte "
                "by byte; a host array goes through In, Out or InOut, an expression through eval");
  static_assert(!Expression<A>, "a kernel takes no expression: use eval");
  A value;

  KernelValue(const A& given, const Stream&) : value(given) {}
  KernelArgument argument() const { return {&value, sizeof value}; }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

template <class A>
requires std::is_base_of_v<DeviceNDArrayBase, A>
struct KernelValue<A> {
  const A& array;
  std::byte* address;

  KernelValue(const A& given, const Stream&) : array(given), address(given.device_pointer()) {}
  KernelArgument argument() const {
    return {&address, sizeof address, array.buffer().get(), &array, !array.is_read_only()};
  }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// Allocations, and pointers into them.
template <class A>
requires(!std::is_base_of_v<DeviceNDArrayBase, A> &&
         (DeviceMemory<A> || std::is_same_v<A, DevicePtr>)) struct KernelValue<A> {
  std::shared_ptr<Buffer> buffer;
  void* address;

  KernelValue(const A& given, const Stream&) {
    const DevicePtr pointer(given);
    buffer = pointer.buffer();
    address = pointer.get();
  }
  KernelArgument argument() const {
    return {&address, sizeof address, buffer.get(), nullptr, true};
  }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// Objects of the driver that kernels take by a number of 64 bits: Texture, Surface.
template <class A>
concept KernelObject = requires(const A& object) {
  { object.handle() } -> std::same_as<std::uint64_t>;
  { object.kernel_use() } -> std::same_as<const std::shared_ptr<Buffer>&>;
};

template <KernelObject A>
struct KernelValue<A> {
  std::uint64_t handle;
  std::shared_ptr<Buffer> use;

  KernelValue(const A& given, const Stream&) : handle(given.handle()), use(given.kernel_use()) {}
  KernelArgument argument() const { return {&handle, sizeof handle, use.get()}; }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// A host array: `reads` before the kernel, `writes` after it.
template <class H, bool reads, bool writes>
struct HostArgument {
  H& host;
  DeviceNDArray<host_value_t<H>> array;
  std::byte* address;

  template <class Given>
  HostArgument(const Given& given, const Stream& stream)
      : host(given.host), array(made(host, stream)), address(array.device_pointer()) {}
  KernelArgument argument() const {
    return {&address, sizeof address, array.buffer().get(), &array, true};
  }
  void finish(const Stream& stream) const {
    if constexpr (writes) array.copy_to_host(host, stream);
  }
  static constexpr bool waits = true;

 private:
  static auto made(const H& host, const Stream& stream) {
    if constexpr (reads) {
      return to_device(host, {.stream = stream});
    } else {
      return empty_like(host, {.stream = stream});
    }
  }
};
template <class H>
struct KernelValue<In<H>> : HostArgument<const H, true, false> {
  using HostArgument<const H, true, false>::HostArgument;
};
template <class H>
struct KernelValue<Out<H>> : HostArgument<H, false, true> {
  using HostArgument<H, false, true>::HostArgument;
};
template <class H>
struct KernelValue<InOut<H>> : HostArgument<H, true, true> {
  using HostArgument<H, true, true>::HostArgument;
};

template <class A>
KernelValue<A> kernel_value(const A& argument, const Stream& stream) {
  return KernelValue<A>(argument, stream);
}

/// The stream of a launch without one of its own: that of the first array, if there is one.
inline const Stream* stream_of_arguments() { return nullptr; }
template <class A, class... More>
const Stream* stream_of_arguments(const A& first, const More&... more) {
  if constexpr (std::is_base_of_v<DeviceNDArrayBase, A>) {
    return &first.stream();
  } else {
    return stream_of_arguments(more...);
  }
}

}  // namespace detail
}  // namespace quarry
