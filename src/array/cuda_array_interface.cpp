// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array_interface.hpp>
#include <quarry/memory/device_pointer.hpp>
#include <quarry/runtime/event.hpp>

#include <fmt/format.h>

#include <utility>

namespace quarry {

namespace {

constexpr std::uintptr_t legacy = 1, per_thread = 2;  // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD

DType type_of(const std::string& typestr) {
  for (std::size_t i = 0; i < type_count; ++i) {
    const DType type = TypeId(i);
    if (type.id() != TypeId::bfloat16 && "'" + typestr + "'" == descr(type)) return type;
  }
  throw DTypeError(
      fmt::format("cuda_array_interface: the typestr \"{}\" names no element type", typestr));
}

Stream stream_of_handle(std::uintptr_t handle) {
  require<LogicError>(handle != 0, "cuda_array_interface: stream 0 is ambiguous, and not allowed");
  return external_stream(handle);
}

std::uintptr_t handle_of(const Stream& stream) {
  if (stream.handle() != 0) return stream.handle();
  return stream == per_thread_default_stream() ? per_thread : legacy;
}

/// The GPU that the memory lies on.
Device device_of(std::uintptr_t address) {
  if (address == 0) return Device();
  return pointer_info(reinterpret_cast<const void*>(address)).device.value_or(Device());
}

MemorySpace space_of(std::uintptr_t address, const Device& device) {
  if (address == 0) return MemorySpace::device;
  switch (pointer_info(reinterpret_cast<const void*>(address), device).kind) {
    case PointerKind::page_locked:
      return MemorySpace::mapped;
    case PointerKind::managed:
      return MemorySpace::managed;
    default:
      return MemorySpace::device;
  }
}

}  // namespace

CudaArrayInterface cuda_array_interface(const DeviceNDArrayBase& array) {
  require<LogicError>(!array.device().is_cpu(),
                      "cuda_array_interface: the array is on the CPU device");
  std::string type = array.dtype().is_record() ? "" : descr(array.dtype());
  require<DTypeError>(!type.empty(), [&] {
    return "cuda_array_interface: no typestr for " + to_string(array.dtype());
  });
  hand_over(array, array.stream());
  CudaArrayInterface result{array.shape(), type.substr(1, type.size() - 2)};
  if (!array.empty()) result.data = reinterpret_cast<std::uintptr_t>(array.device_pointer());
  result.is_read_only = array.is_read_only();
  if (!array.is_c_contiguous()) result.strides = array.strides();
  result.stream = handle_of(array.stream());
  return result;
}

UntypedNDArray from_cuda_array_interface(const CudaArrayInterface& interface,
                                         std::shared_ptr<void> owner,
                                         const std::optional<Stream>& stream) {
  require<LogicError>(interface.version >= 2, [&] {
    return fmt::format("cuda_array_interface: version {} is not supported", interface.version);
  });
  const Device device = device_of(interface.data);
  require<LogicError>(!device.is_cpu(), "cuda_array_interface: no GPU is current");
  const Stream home = stream ? *stream : detail::stream_of({.device = device});
  if (interface.stream) {
    const DeviceGuard guard(device);  // whose streams these are
    const Stream producer = stream_of_handle(*interface.stream);
    if (!(producer == home)) home.wait_event(producer.record());
  }
  return adopt_array({.data = reinterpret_cast<void*>(interface.data),
                      .dtype = type_of(interface.typestr),
                      .shape = interface.shape,
                      .strides = interface.strides,
                      .device = device,
                      .space = space_of(interface.data, device),
                      .is_read_only = interface.is_read_only},
                     std::move(owner), home);
}

}  // namespace quarry
