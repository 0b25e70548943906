// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/transfer.hpp>

#include <memory>

/// Copies on one device by kernels. All are queued in `stream`; the caller records the use of the
/// arrays' buffers (Buffer::used_on).
namespace quarry::memory {

/// Device memory with the same shape, dense in the order of `like`'s strides.
DeviceRef temporary_like(const Layout& like, DType type, const Stream& stream,
                         std::shared_ptr<Buffer>& holder);

/// Elements of one type, of the same shape.
void copy_within(const DeviceRef& to, const DeviceRef& from, const Stream& stream);

/// `program` makes elements of `to` from those of `from`, which has the same shape and does not
/// overlap with it. Elements of either may lie at any address.
void convert_within(const DeviceRef& to, const DeviceRef& from, const kernels::program& program,
                    const Stream& stream);

}  // namespace quarry::memory
