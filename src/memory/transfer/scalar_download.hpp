// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "memory/transfer/host_copy.hpp"

namespace quarry::memory {

/// Copies one element from a GPU by a kernel that writes where the host looks, which takes half the
/// time of a copy by the driver: that is the work of another engine. False, and nothing is copied,
/// for other copies, for the first ones of a process, which are not worth the compilation, and
/// where kernels cannot be compiled.
bool download_scalar(const HostCopy& copy, const Stream& stream);

}  // namespace quarry::memory
