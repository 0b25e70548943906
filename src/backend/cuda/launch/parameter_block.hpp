// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

#include "backend/kernel_call.hpp"

namespace quarry::backend::cuda {

/// A call as the words of kernels/params.hpp, in a fixed place up to the size that nearly every
/// call has.
using ParameterBlock = SmallArray<std::uint64_t, 64>;

/// With the axes, or only what stands before them. A block of threads takes `chunk` of the reduced
/// positions.
ParameterBlock parameter_block(const KernelCall& call, bool has_axes, std::int64_t chunk);

}  // namespace quarry::backend::cuda
