// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/kernels/program.hpp>
#include <quarry/runtime/stream.hpp>

#include <cstddef>

#include "runtime/launch.hpp"

/// Copies between layouts on one device, by kernels.
namespace quarry::memory {

/// Every element of `from`, whose strides belong to the shape of `to_layout`, into its place.
/// Queued in `stream`.
void copy_strided(std::byte* to, const Layout& to_layout, const runtime::Operand& from,
                  std::size_t itemsize, const Stream& stream);

/// Whether both layouts are the same dense block, so that one copy of bytes does it.
bool same_block(const Layout& a, const Layout& b, std::size_t itemsize);

/// The largest power of two up to 16 that divides the address, the size of an element and all
/// strides.
std::size_t word_of(const std::byte* data, const Layout& layout, std::size_t itemsize);

}  // namespace quarry::memory
