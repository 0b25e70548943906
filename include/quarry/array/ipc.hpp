// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/ipc.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quarry {

/// An array that another process can open. It does not own the memory: the process that exports it
/// has to keep the array. Copies share the state of being open.
class IpcArrayHandle {
 public:
  ///@{
  /// Serialises the handle for another process, and back; throws FormatError for bytes that are not
  /// from to_bytes() of this version.
  std::vector<std::byte> to_bytes() const;
  static IpcArrayHandle from_bytes(std::span<const std::byte> bytes);
  ///@}

  /// The array, with its strides and offset, on the GPU that holds it, or, if this process does not
  /// see that GPU, on the current one. Throws LogicError in the process that exported the array, if
  /// this handle is already open, and if the GPU cannot access the memory; DTypeError if the
  /// elements are not T.
  template <class T>
  DeviceNDArray<T> open() {
    require_dtype(dtype_of<std::remove_const_t<T>>);
    return adopt<T>(open_buffer(std::nullopt));
  }
  /// On a GPU that can access the memory of the GPU that holds it.
  template <class T>
  DeviceNDArray<T> open(const Device& device) {
    require_dtype(dtype_of<std::remove_const_t<T>>);
    return adopt<T>(open_buffer(device));
  }
  /// Closes the handle; arrays that it opened stay valid, and the memory is unmapped with the last
  /// of them. Throws LogicError if it is not open.
  void close();
  /// Whether an array was opened and close() has not been called yet.
  bool is_open() const { return opened_ && *opened_; }

  const IpcBytes& handle() const { return memory_.handle; }      ///< of the allocation
  std::size_t offset() const { return memory_.offset; }          ///< of element 0, in bytes
  std::size_t allocation_size() const { return memory_.bytes; }  ///< that the handle opens
  const Shape& shape() const { return layout_.shape; }           ///< of the array
  const Strides& strides() const { return layout_.strides; }     ///< of the array, in bytes
  DType dtype() const { return dtype_; }                         ///< of the elements
  const std::string& device_uuid() const { return uuid_; }  ///< of the GPU that holds the memory
  std::int64_t process_id() const { return process_; }  ///< of the process that exported the array

 private:
  struct Memory {
    IpcBytes handle{};
    std::size_t offset = 0, bytes = 0;
  };
  using Opened = std::shared_ptr<Buffer>;

  friend IpcArrayHandle get_ipc_handle(const DeviceNDArrayBase& array);
  IpcArrayHandle(DType dtype, Layout layout) : dtype_(dtype), layout_(std::move(layout)) {}
  void require_dtype(DType wanted) const;
  Opened open_buffer(const std::optional<Device>& device);
  template <class T>
  DeviceNDArray<T> adopt(const Opened& buffer) const {
    return DeviceNDArray<T>(layout_, buffer->data() + memory_.offset, buffer);
  }

  DType dtype_;
  Layout layout_;
  Memory memory_;
  std::string uuid_;
  std::int64_t process_ = 0;
  std::uint64_t mark_ = 0;  ///< identifies the process: process ids are reused
  std::shared_ptr<Opened> opened_ = std::make_shared<Opened>();
};

/// For any array or view in memory that can be exported (see memory/ipc.hpp; else throws
/// LogicError, also if the elements are not aligned). Does not wait: queued writes to the array
/// may not be done yet.
IpcArrayHandle get_ipc_handle(const DeviceNDArrayBase& array);

/// An array in memory of another process: `handle` opens an allocation, the array begins `offset`
/// bytes into it. Without strides it is dense in C order. The memory is closed with the last array.
template <class T>
DeviceNDArray<T> open_ipc_array(const IpcBytes& handle, const Shape& shape,
                                const std::optional<Strides>& strides = std::nullopt,
                                std::size_t offset = 0, const Device& device = {}) {
  const auto buffer = IPCMemoryHandle(handle, device).buffer();
  require<IndexError>(offset <= buffer->bytes(), "open_ipc_array: the offset is past the memory");
  const Layout layout{shape, strides.value_or(c_strides(shape, sizeof(T)))};
  return DeviceNDArray<T>(layout, buffer->data() + offset, buffer);
}

}  // namespace quarry
