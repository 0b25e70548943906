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

/// An array that another process can open. It holds no memory: the process that made it keeps the
/// array. Copies are handles of the same opening.
class IpcArrayHandle {
 public:
  ///@{
  /// What another process needs of the handle, and back; throws FormatError for bytes that
  /// to_bytes() of this version cannot have made.
  std::vector<std::byte> to_bytes() const;
  static IpcArrayHandle from_bytes(std::span<const std::byte> bytes);
  ///@}

  /// The array, with its strides and offset, on the GPU it lies on, or, where this process does not
  /// see that one, on the current GPU. Throws LogicError in the process that exported the array,
  /// when this handle is open already, and where the GPU cannot reach the memory; DTypeError if it
  /// does not hold T.
  template <class T>
  DeviceNDArray<T> open() {
    require_dtype(dtype_of<std::remove_const_t<T>>);
    return adopt<T>(open_buffer(std::nullopt));
  }
  /// On a GPU that can access the memory of the one it lies on.
  template <class T>
  DeviceNDArray<T> open(const Device& device) {
    require_dtype(dtype_of<std::remove_const_t<T>>);
    return adopt<T>(open_buffer(device));
  }
  /// This handle lets go; arrays that it opened stay, and the memory is closed with the last of
  /// them. Throws LogicError when it is not open.
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
  std::uint64_t mark_ = 0;  ///< of the process: numbers of processes are used again
  std::shared_ptr<Opened> opened_ = std::make_shared<Opened>();
};

/// For any array or view in memory of its GPU's driver (see memory/ipc.hpp for which that is; else
/// throws LogicError, also where the elements are not aligned). It does not wait: what is queued
/// for the array may not be there yet.
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
