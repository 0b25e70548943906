// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <span>

namespace quarry {

/// The dense layout of `like`'s shape in which the axes have the order of its strides, as NumPy's
/// empty_like: axes along which it is broadcast are the innermost ones. Throws SizeOverflow.
Layout dense_like(const Layout& like, std::size_t itemsize);

/// The dense layout of what is computed from `operands`, which broadcast to `shape`, with its axes
/// in the order of NumPy's results: of two axes the one with the larger strides is the outer one.
/// Operands that are broadcast along one of them do not count; where others disagree, C order
/// stays. `is_reduced`, if given, tells of each axis whether the result lacks it. Throws
/// SizeOverflow.
Layout dense_like(const Shape& shape, std::span<const Layout* const> operands, std::size_t itemsize,
                  const bool* is_reduced = nullptr);

}  // namespace quarry
