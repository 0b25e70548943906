// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <quarry/base/dtype.hpp>

namespace quarry::backend::cuda {

/// The driver's name of a type of numbers in CUDA arrays and textures. Throws LogicError for
/// others.
CUarray_format format_of(const DType& type);
/// The reverse.
DType type_of(CUarray_format format);

}  // namespace quarry::backend::cuda
