// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>
#include <quarry/memory/host_array.hpp>

#include <optional>
#include <span>

/// Copies of bytes. The host's side is any contiguous range or array: std::span, std::vector,
/// xtensor containers and dense views; of strided ones LogicError is thrown. The device's side is
/// an array, an allocation or a DevicePtr. Addresses are checked before the driver is called: host
/// memory given as device memory, or the reverse, and ranges that exceed their allocation throw
/// LogicError. So does host memory that is only partly registered: the driver refuses it. Ranges
/// that overlap partly throw AliasError.
///
/// The plain forms run in the default stream and return when the copy is done. The _async forms run
/// in `stream`; pageable memory may be reused on return, page-locked memory must not be written to
/// (or read) before the copy is done.
namespace quarry {

namespace detail {
/// Throws LogicError unless the elements are dense in C or F order.
std::span<std::byte> dense_bytes(const HostRef& host);

template <HostArray H>
std::span<std::byte> host_bytes(H& host) {
  if constexpr (!ContiguousHostRange<H>) {
    return dense_bytes(host_ref(host));
  } else {
    using T = host_value_t<H>;
    auto* const data = const_cast<T*>(host.data());
    return {reinterpret_cast<std::byte*>(data), host.size() * sizeof(T)};
  }
}

/// No stream: the plain form.
void copy_htod(const DevicePtr& to, std::span<const std::byte> from, const Stream* stream);
void copy_dtoh(std::span<std::byte> to, const DevicePtr& from, const Stream* stream);
}  // namespace detail

///@{
/// All of `from`.
template <class H>
requires HostArray<std::remove_reference_t<H>>
void memcpy_htod(const DevicePtr& to, H&& from) {
  detail::copy_htod(to, detail::host_bytes(from), nullptr);
}
template <class H>
requires HostArray<std::remove_reference_t<H>>
void memcpy_htod_async(const DevicePtr& to, H&& from, const Stream& stream = current_stream()) {
  detail::copy_htod(to, detail::host_bytes(from), &stream);
}
///@}

/// All of `to`.
template <class H>
requires WritableHostArray<std::remove_reference_t<H>>
void memcpy_dtoh(H&& to, const DevicePtr& from) {
  detail::copy_dtoh(detail::host_bytes(to), from, nullptr);
}
/// `to` must live until the copy is done.
template <class H>
requires WritableHostArray<std::remove_reference_t<H>>
void memcpy_dtoh_async(H&& to, const DevicePtr& from, const Stream& stream = current_stream()) {
  detail::copy_dtoh(detail::host_bytes(to), from, &stream);
}

/// In the default stream of the device; the host does not wait.
void memcpy_dtod(const DevicePtr& to, const DevicePtr& from, std::size_t bytes);
/// In `stream`; the host does not wait. The ranges must not overlap.
void memcpy_dtod_async(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                       const Stream& stream = current_stream());

/// Between two GPUs, with or without peer access. A device that is not given is that of the
/// pointer, or the current one.
void memcpy_peer(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                 const std::optional<Device>& to_device = std::nullopt,
                 const std::optional<Device>& from_device = std::nullopt);
/// `stream` is one of the destination's device.
void memcpy_peer_async(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                       const Stream& stream,
                       const std::optional<Device>& from_device = std::nullopt);

}  // namespace quarry
