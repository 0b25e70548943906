// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "memory/transfer/host_copy.hpp"

/// Copies between host memory and a GPU, as planned by transfer_plan.hpp.
namespace quarry::memory {

/// Both sides have one type, and the destination's elements do not share memory; `known` is of the
/// host memory. If the copy waits it is done on return.
void carry(const HostCopy& copy, const KnownMemory& known, const Stream& stream);

}  // namespace quarry::memory
