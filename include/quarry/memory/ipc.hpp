// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>
#include <quarry/runtime/event.hpp>

#include <optional>

/// Device memory that another process can open. The unit is a driver allocation: a pool puts many
/// arrays into one, and a process that opens it can access them all. It works for memory of
/// device_resource and of pools over it, the default for arrays; any other memory throws
/// LogicError. The exporting process has to keep the memory alive until the others have closed it,
/// and to signal when its contents are written (see Event::ipc_handle).
namespace quarry {

/// An address for another process: the handle opens the allocation of `bytes` bytes; the address is
/// `offset` bytes into it.
struct IpcMemory {
  IpcBytes handle{};       ///< the CUipcMemHandle of the allocation
  std::size_t offset = 0;  ///< of the address in the allocation
  std::size_t bytes = 0;   ///< of the allocation
  Device device;           ///< that holds the memory
};
/// For any address in memory that can be exported.
IpcMemory get_ipc_handle(const DevicePtr& memory);

///@{
/// The handle alone, of memory that is the start of its allocation; throws LogicError for an
/// address within one.
IpcBytes mem_get_ipc_handle(const DevicePtr& memory);
IpcBytes mem_get_ipc_handle(const void* memory);
///@}

/// An allocation of another process. Opened twice, on one device, it is mapped once, at one
/// address. Move-only; buffers from buffer() keep the memory mapped after close().
class IPCMemoryHandle {
 public:
  /// Throws LogicError in the process that exported it, for bytes that are no handle, for memory
  /// that has been freed or that `device` cannot access, and on the CPU device.
  explicit IPCMemoryHandle(const IpcBytes& handle, const Device& device = {});
  ///@{
  /// A moved-from handle is closed.
  IPCMemoryHandle(IPCMemoryHandle&&) noexcept = default;
  IPCMemoryHandle& operator=(IPCMemoryHandle&&) noexcept = default;
  ///@}

  /// Waits for the device and closes; throws LogicError the second time.
  void close();
  /// Whether close() has not been called yet.
  bool is_open() const { return buffer_ != nullptr; }

  ///@{
  /// Of the whole allocation. Throw LogicError after close().
  std::byte* device_pointer() const { return buffer()->data(); }
  std::size_t size() const { return buffer()->bytes(); }
  const std::shared_ptr<Buffer>& buffer() const;
  ///@}

 private:
  std::shared_ptr<Buffer> buffer_;
};

}  // namespace quarry
