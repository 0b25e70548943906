// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/foreign.hpp>

#include <dlpack/dlpack.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

/// Arrays from and for other libraries without a copy, by DLPack (https://dmlc.github.io/dlpack):
/// versions 0.x and 1.x of the protocol, whatever the version of <dlpack/dlpack.h>.

#ifndef DLPACK_MAJOR_VERSION  // a header before version 1.0
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/// Version 1.x of the protocol.
struct DLPackVersion {
  std::uint32_t major;  ///< another one: another layout
  std::uint32_t minor;  ///< another one: other types or flags
};
/// A tensor that another library owns, as version 1.x hands it over.
struct DLManagedTensorVersioned {
  DLPackVersion version;                                   ///< of the structure
  void* manager_ctx;                                       ///< the owner's
  void (*deleter)(struct DLManagedTensorVersioned* self);  ///< gives it back, once
  std::uint64_t flags;                                     ///< DLPACK_FLAG_BITMASK_...
  DLTensor dl_tensor;                                      ///< what is handed over
};
#endif

namespace quarry {

namespace detail::dlpack {

inline constexpr std::uint32_t major_version = 1, minor_version = 0;
inline constexpr std::uint8_t bool_code = 6;  // kDLBool of later headers

/// Calls the deleter, if there is one.
struct Deleter {
  template <class Tensor>
  void operator()(Tensor* tensor) const noexcept {
    try {
      if (tensor && tensor->deleter) tensor->deleter(tensor);
    } catch (...) {  // it is another library's, and says that it is C
    }
  }
};

inline std::uint8_t code_of(DType type) {
  switch (type.kind()) {
    case Kind::boolean:
      return bool_code;
    case Kind::signed_integer:
      return kDLInt;
    case Kind::unsigned_integer:
      return kDLUInt;
    case Kind::floating:
      return type.id() == TypeId::bfloat16 ? kDLBfloat : kDLFloat;
    case Kind::complex:
      return kDLComplex;
    case Kind::record:
      break;
  }
  throw DTypeError("DLPack has no code for " + to_string(type));
}

inline DType dtype_of(const DLDataType& type) {
  for (std::size_t i = 0; i < type_count && type.lanes == 1; ++i) {
    const DType candidate = TypeId(i);
    if (code_of(candidate) == type.code && candidate.itemsize() * 8 == type.bits) return candidate;
  }
  throw DTypeError("DLPack: no element type has code " + std::to_string(type.code) + " of " +
                   std::to_string(type.bits) + " bits in " + std::to_string(type.lanes) + " lanes");
}

inline Shape dims(const std::int64_t* values, int ndim, std::int64_t factor, const char* what) {
  require<ShapeError>(values != nullptr || ndim == 0, [&] {
    return std::string("DLPack: ") + std::to_string(ndim) + " axes without " + what;
  });
  Shape result;
  for (int d = 0; d < ndim; ++d) result.push_back(checked_mul(values[d], factor));
  return result;
}

/// The device, the kind of memory, and whether it is page-locked, of a tensor.
inline void place(const DLDevice& device, ForeignArray& to) {
  std::int32_t type = 0;  // may be none of this header's, which the enumeration cannot hold
  static_assert(sizeof type == sizeof device.device_type);
  std::memcpy(&type, &device.device_type, sizeof type);
  switch (type) {
    case kDLCPU:
      to.device = Device::cpu();
      return;
    case kDLCUDA:
      to.device = Device::cuda(device.device_id);
      return;
    case kDLCUDAHost:
      to.space = MemorySpace::mapped;
      break;
    case kDLCUDAManaged:
      to.space = MemorySpace::managed;
      break;
    default:
      throw LogicError("DLPack: device type " + std::to_string(type) +
                       " is neither the CPU nor CUDA");
  }
  if (to.device.is_cpu()) to.space = MemorySpace::device;
}

inline ForeignArray describe(const DLTensor& tensor, bool is_read_only) {
  require<ShapeError>(tensor.ndim >= 0 && tensor.ndim <= int{max_rank}, [&] {
    return "DLPack: " + std::to_string(tensor.ndim) + " axes; 0 to " + std::to_string(max_rank);
  });
  ForeignArray result{.dtype = dtype_of(tensor.dtype),
                      .shape = dims(tensor.shape, tensor.ndim, 1, "extents"),
                      .is_read_only = is_read_only};
  if (tensor.strides != nullptr) {
    result.strides =
        dims(tensor.strides, tensor.ndim, std::int64_t(result.dtype.itemsize()), "strides");
  }
  place(tensor.device, result);
  const auto base = reinterpret_cast<std::uintptr_t>(tensor.data);
  require<SizeOverflow>(
      tensor.byte_offset <= std::numeric_limits<std::uintptr_t>::max() - base,
      [&] { return "DLPack: a byte_offset of " + std::to_string(tensor.byte_offset); });
  if (base != 0) result.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return result;
}

template <class Tensor>
UntypedNDArray adopt(Tensor* tensor, bool is_read_only, const std::optional<Stream>& stream) {
  const std::shared_ptr<Tensor> owner(tensor, Deleter());  // from here on it is called once
  const ForeignArray foreign = describe(tensor->dl_tensor, is_read_only);
  return adopt_array(foreign, owner, stream ? *stream : stream_of({.device = foreign.device}));
}

/// An exported tensor, which keeps the memory of the array alive.
template <class Tensor>
struct Exported {
  explicit Exported(const DeviceNDArrayBase& array) : buffer(array.buffer()) {
    const auto itemsize = std::int64_t(array.dtype().itemsize());
    for (std::size_t d = 0; d < array.ndim(); ++d) {
      shape.push_back(array.shape()[d]);
      const bool is_one = array.shape()[d] <= 1;  // of which no stride is ever used
      require<LogicError>(is_one || array.strides()[d] % itemsize == 0, [&] {
        return "DLPack: strides are whole elements, and these are " + to_string(array.strides()) +
               " bytes for elements of " + std::to_string(itemsize) + ": copy() is dense";
      });
      strides.push_back(array.strides()[d] / itemsize);
    }
  }
  static void destroy(Tensor* tensor) { delete static_cast<Exported*>(tensor->manager_ctx); }

  Tensor tensor{};
  std::shared_ptr<Buffer> buffer;
  Shape shape;
  Strides strides;
};

inline DLDevice device_of(const DeviceNDArrayBase& array) {
  const Device device = array.device();
  if (device.is_cpu()) return {kDLCPU, 0};
  switch (array.buffer()->space()) {
    case MemorySpace::mapped:  // where the host has another address, only the GPU's is known
      if (array.buffer()->host_data() != array.buffer()->data()) break;
      return {kDLCUDAHost, 0};
    case MemorySpace::managed:
      return {kDLCUDAManaged, device.id()};
    default:
      break;
  }
  return {kDLCUDA, device.id()};
}

template <class Tensor>
std::unique_ptr<Tensor, Deleter> share(const DeviceNDArrayBase& array,
                                       const std::optional<Stream>& consumer) {
  const DLDataType type{code_of(array.dtype()), std::uint8_t(array.dtype().itemsize() * 8), 1};
  auto exported = std::make_unique<Exported<Tensor>>(array);
  hand_over(array, consumer);
  Exported<Tensor>& e = *exported;
  e.tensor.dl_tensor = {array.device_pointer(),
                        device_of(array),
                        int(array.ndim()),
                        type,
                        e.shape.data(),
                        e.strides.data(),
                        0};
  e.tensor.manager_ctx = exported.release();
  e.tensor.deleter = Exported<Tensor>::destroy;
  return std::unique_ptr<Tensor, Deleter>(&e.tensor);
}

}  // namespace detail::dlpack

/// A tensor for a consumer, which takes it by release() and calls its deleter.
using DLPackTensor = std::unique_ptr<DLManagedTensorVersioned, detail::dlpack::Deleter>;
/// The same of protocol 0.x.
using DLPackTensorUnversioned = std::unique_ptr<DLManagedTensor, detail::dlpack::Deleter>;

///@{
/// The array for another library, without a copy: the memory lives until the deleter is called,
/// from whatever thread. Elements of a read-only array have the flag. `consumer` waits for the work
/// queued on the array so far; without one the host waits. Throws DTypeError for records,
/// LogicError for strides that are no whole elements, and for a read-only array, if the protocol
/// has no flag.
inline DLPackTensor to_dlpack(const DeviceNDArrayBase& array,
                              const std::optional<Stream>& consumer = std::nullopt) {
  auto tensor = detail::dlpack::share<DLManagedTensorVersioned>(array, consumer);
  tensor->version = {detail::dlpack::major_version, detail::dlpack::minor_version};
  tensor->flags = array.is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return tensor;
}
inline DLPackTensorUnversioned to_dlpack_unversioned(
    const DeviceNDArrayBase& array, const std::optional<Stream>& consumer = std::nullopt) {
  require<LogicError>(!array.is_read_only(),
                      "DLPack before version 1.0 cannot say that an array is read-only");
  return detail::dlpack::share<DLManagedTensor>(array, consumer);
}
///@}

///@{
/// Takes a tensor over, without a copy; it is not trusted. Its deleter is called once: when no
/// array uses the memory and the work queued on it is done, or at once if this throws. The data
/// have to be ready in `stream`, by default the current one of its device. Page-locked and managed
/// memory becomes an array of the current device. `DeviceNDArray<float> a = from_dlpack(t);` throws
/// DTypeError for other elements, LogicError for a read-only tensor unless the elements are const.
/// Throws LogicError for nullptr, another major version, a device that is neither the CPU nor a GPU
/// of CUDA, and memory that the device cannot access; DTypeError, ShapeError, SizeOverflow,
/// IndexError for a GPU that there is not.
inline UntypedNDArray from_dlpack(DLManagedTensorVersioned* tensor,
                                  const std::optional<Stream>& stream = std::nullopt) {
  require<LogicError>(tensor != nullptr, "from_dlpack: no tensor");
  if (tensor->version.major != detail::dlpack::major_version) {
    const std::uint32_t version = tensor->version.major;
    detail::dlpack::Deleter()(tensor);  // all else of it may have another meaning
    throw LogicError("from_dlpack: version " + std::to_string(version) +
                     " of the protocol, which is not 1");
  }
  const bool is_read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return detail::dlpack::adopt(tensor, is_read_only, stream);
}
inline UntypedNDArray from_dlpack(DLManagedTensor* tensor,
                                  const std::optional<Stream>& stream = std::nullopt) {
  require<LogicError>(tensor != nullptr, "from_dlpack: no tensor");
  return detail::dlpack::adopt(tensor, false, stream);
}
inline UntypedNDArray from_dlpack(DLPackTensor tensor,
                                  const std::optional<Stream>& stream = std::nullopt) {
  return from_dlpack(tensor.release(), stream);
}
inline UntypedNDArray from_dlpack(DLPackTensorUnversioned tensor,
                                  const std::optional<Stream>& stream = std::nullopt) {
  return from_dlpack(tensor.release(), stream);
}
///@}

}  // namespace quarry
