// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>

namespace quarry {

/// What overlap() finds.
enum class Overlap : std::uint8_t { disjoint, overlapping, unknown };

/// Whether two arrays share a byte. `a` and `b` are the addresses of their elements 0 and are not
/// read. `disjoint` and `overlapping` are exact; `unknown`: not decided after `max_work` steps of
/// search. Throws SizeOverflow if an element's offset does not fit.
Overlap overlap(const std::byte* a, const Layout& layout_a, std::size_t itemsize_a,
                const std::byte* b, const Layout& layout_b, std::size_t itemsize_b,
                std::int64_t max_work = 10000);

/// Whether two elements of one array share a byte, as along a broadcast axis. Returns true if a
/// bounded search could not decide.
bool overlaps_itself(const Layout& layout, std::size_t itemsize);
/// Throws AliasError if overlaps_itself: such an array cannot be written.
void require_no_aliases(const Layout& layout, std::size_t itemsize);

}  // namespace quarry
