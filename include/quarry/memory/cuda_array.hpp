// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/array_descriptor.hpp>
#include <quarry/memory/memcpy.hpp>

#include <memory>

/// CUDA arrays, and copies of bytes to and from one-dimensional ones. Those of two and three
/// dimensions are copied by block_copy.hpp.
namespace quarry {

namespace detail {
struct ArrayState;
}

/// Owns a CUDA array, whose layout is opaque; on the CPU device plain memory, in rows without gaps.
/// Elements are uninitialised.
class CudaArray {
 public:
  /// Throws LogicError, with the descriptor, if it is invalid or its extents exceed the
  /// device's limits; MemoryError if memory runs out, after the device's caches have been
  /// freed.
  explicit CudaArray(const ArrayDescriptor& descriptor, const Device& device = {});

  /// Destroys the array, as the destructor does; a second call does nothing. Waits on the host for
  /// the copies queued with the array, but not for other work, of kernels that use handle(): wait
  /// for that before. Afterwards every use of the array throws LogicError, also in copies that were
  /// set up with it. An array with textures or surfaces is destroyed with the last of them.
  void free() noexcept { state_.reset(); }

  const ArrayDescriptor& descriptor() const;  ///< as the array was made
  Device device() const;                      ///< that holds the memory
  /// The CUarray; on the CPU device the address of the first element.
  void* handle() const;

  ///@{
  /// Move-only; a moved-from array is as after free().
  CudaArray(CudaArray&&) noexcept = default;
  CudaArray& operator=(CudaArray&&) noexcept = default;
  CudaArray(const CudaArray&) = delete;
  CudaArray& operator=(const CudaArray&) = delete;
  ~CudaArray() = default;
  ///@}
  /// Whether both are the same array: Texture::get_array() returns another handle of it.
  friend bool operator==(const CudaArray&, const CudaArray&) = default;

  ///@{
  /// For the copies, and for textures.
  const std::shared_ptr<detail::ArrayState>& state() const;
  explicit CudaArray(std::shared_ptr<detail::ArrayState> state) : state_(std::move(state)) {}
  ///@}

 private:
  std::shared_ptr<detail::ArrayState> state_;
};

namespace detail {
/// No stream: the plain form.
void copy_htoa(const CudaArray& to, std::size_t index, std::span<const std::byte> from,
               const Stream* stream);
void copy_atoh(std::span<std::byte> to, const CudaArray& from, std::size_t index,
               const Stream* stream);
}  // namespace detail

// Copies to and from one-dimensional arrays. An index counts bytes from the start of the array.
// LogicError is thrown for an index or a number of bytes that is no multiple of the element's size,
// for bytes beyond the array's end, for arrays of more dimensions and for freed ones; otherwise all
// is as in memcpy.hpp. All forms without a stream wait, copies on the device too.

///@{
/// All of `from`.
template <class H>
requires HostArray<std::remove_reference_t<H>>
void memcpy_htoa(const CudaArray& to, std::size_t index, H&& from) {
  detail::copy_htoa(to, index, detail::host_bytes(from), nullptr);
}
template <class H>
requires HostArray<std::remove_reference_t<H>>
void memcpy_htoa_async(const CudaArray& to, std::size_t index, H&& from,
                       const Stream& stream = current_stream()) {
  detail::copy_htoa(to, index, detail::host_bytes(from), &stream);
}
///@}

/// All of `to`.
template <class H>
requires WritableHostArray<std::remove_reference_t<H>>
void memcpy_atoh(H&& to, const CudaArray& from, std::size_t index) {
  detail::copy_atoh(detail::host_bytes(to), from, index, nullptr);
}
/// `to` must live until the copy is done.
template <class H>
requires WritableHostArray<std::remove_reference_t<H>>
void memcpy_atoh_async(H&& to, const CudaArray& from, std::size_t index,
                       const Stream& stream = current_stream()) {
  detail::copy_atoh(detail::host_bytes(to), from, index, &stream);
}

///@{
/// Between device memory and an array; waits for the copy.
void memcpy_dtoa(const CudaArray& to, std::size_t index, const DevicePtr& from, std::size_t bytes);
void memcpy_atod(const DevicePtr& to, const CudaArray& from, std::size_t index, std::size_t bytes);
///@}
/// The elements of both arrays have the same size.
void memcpy_atoa(const CudaArray& to, std::size_t to_index, const CudaArray& from,
                 std::size_t from_index, std::size_t bytes);

}  // namespace quarry
