// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/transfer.hpp>

/// Between memory of the program and arrays of the CPU device: from layout to layout.
namespace quarry::memory {

/// `program` takes one element of the source to one of the destination; nullptr copies. Shapes are
/// equal, and the destination's elements do not share memory. `waits`: the copy is done on return;
/// else the host memory of an upload has been read.
void upload_on_cpu(const DeviceRef& to, const HostRef& from, const Stream& stream, bool waits,
                   const kernels::program* program);
void download_on_cpu(const HostRef& to, const DeviceRef& from, const Stream& stream, bool waits,
                     const kernels::program* program);

}  // namespace quarry::memory
