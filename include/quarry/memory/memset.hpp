// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>

/// Fills of raw device memory. `count` and `width` are elements of 1, 2 or 4 bytes, `pitch` is the
/// bytes from one row to the next; bytes between the rows are not written. Memory that is not
/// aligned to an element, a pitch that is smaller than a row or no multiple of an element, and
/// ranges that exceed their allocation throw LogicError. The plain forms run in the default stream
/// of the device, the _async forms in `stream`; the host waits for neither.
namespace quarry {

///@{
/// `count` elements in a row, in the default stream.
void memset_d8(const DevicePtr& to, std::uint8_t value, std::size_t count);
void memset_d16(const DevicePtr& to, std::uint16_t value, std::size_t count);
void memset_d32(const DevicePtr& to, std::uint32_t value, std::size_t count);
///@}

///@{
/// `count` elements in a row, in `stream`.
void memset_d8_async(const DevicePtr& to, std::uint8_t value, std::size_t count,
                     const Stream& stream = current_stream());
void memset_d16_async(const DevicePtr& to, std::uint16_t value, std::size_t count,
                      const Stream& stream = current_stream());
void memset_d32_async(const DevicePtr& to, std::uint32_t value, std::size_t count,
                      const Stream& stream = current_stream());
///@}

///@{
/// `height` rows of `width` elements, in the default stream.
void memset_d2d8(const DevicePtr& to, std::size_t pitch, std::uint8_t value, std::size_t width,
                 std::size_t height);
void memset_d2d16(const DevicePtr& to, std::size_t pitch, std::uint16_t value, std::size_t width,
                  std::size_t height);
void memset_d2d32(const DevicePtr& to, std::size_t pitch, std::uint32_t value, std::size_t width,
                  std::size_t height);
///@}

///@{
/// `height` rows of `width` elements, in `stream`.
void memset_d2d8_async(const DevicePtr& to, std::size_t pitch, std::uint8_t value,
                       std::size_t width, std::size_t height,
                       const Stream& stream = current_stream());
void memset_d2d16_async(const DevicePtr& to, std::size_t pitch, std::uint16_t value,
                        std::size_t width, std::size_t height,
                        const Stream& stream = current_stream());
void memset_d2d32_async(const DevicePtr& to, std::size_t pitch, std::uint32_t value,
                        std::size_t width, std::size_t height,
                        const Stream& stream = current_stream());
///@}

}  // namespace quarry
