// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>

namespace quarry {

/// Whether every element lies at a multiple of its type's alignment; `first` is the address of
/// element 0. A GPU faults on anything else, and then loses its context, and the CPU's loops may
/// fault; views of fields and of adopted memory can be misaligned.
bool is_aligned(const void* first, const Layout& layout, const DType& type);

}  // namespace quarry
