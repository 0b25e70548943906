// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

namespace quarry {

/// The dense layout of `like`'s shape in which the axes have the order of its strides, as NumPy's
/// order='K'. Throws SizeOverflow.
Layout dense_like(const Layout& like, std::size_t itemsize);

}  // namespace quarry
