// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

#include "backend/kernel_call.hpp"

namespace quarry::backend::cuda {

/// The words of kernels/params.hpp; up to 64, which nearly every call has, they need no heap.
using ParameterBlock = SmallArray<std::uint64_t, 64>;

/// The block of a call, with shape and strides where the kernel has axes. A block of threads
/// reduces `chunk` elements.
ParameterBlock parameter_block(const KernelCall& call, bool has_axes, std::int64_t chunk);

}  // namespace quarry::backend::cuda
