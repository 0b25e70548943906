// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/transfer.hpp>

/// Between host memory and a GPU, as transfer_plan.hpp decides.
namespace quarry::memory {

/// Shapes and types are those of the host's side; there are elements, and the destination's do not
/// share memory. `waits`: the copy is done on return.
void carry_up(const DeviceRef& to, const HostRef& from, const Stream& stream, bool waits);
void carry_down(const HostRef& to, const DeviceRef& from, const Stream& stream, bool waits);

}  // namespace quarry::memory
