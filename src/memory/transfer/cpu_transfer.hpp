// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "memory/transfer/host_copy.hpp"

/// Copies between memory of the program and arrays of the CPU device, from layout to layout.
namespace quarry::memory {

/// `program` converts one element of the source to one of the destination; nullptr copies. The
/// destination's elements do not share memory. An upload that does not wait has read the host
/// memory on return, unless it is captured.
void carry_on_cpu(const HostCopy& copy, const Stream& stream, const kernels::program* program);

}  // namespace quarry::memory
