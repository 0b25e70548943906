// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#define QUARRY_HAS_DEVICE_MDSPAN
#endif

#include <quarry/array/device_view.hpp>

/// For kernels that nvcc compiles: shape and strides of an array by value, and iterators for Thrust
/// and CUB. Other compilers take the same header, for arrays on the CPU device. Source for
/// qy::compile() includes it too; there it has the class DeviceView alone, without mdspan.
