// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/npy.hpp>

#include "io/npy_reader.hpp"

namespace quarry::npy {

/// A new array on a device. Bytes that are to lie there as in the file are read into the buffers of
/// the transfer, by several threads where the content allows it. Throws as read_array().
UntypedNDArray load_array(Reader& file, DType expected, const ArrayOptions& options);

}  // namespace quarry::npy
