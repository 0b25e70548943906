// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <optional>

#include "runtime/launch.hpp"

/// Evaluation as if through a temporary, one band of the output at a time: the temporary is two
/// bands, small enough to stay in the cache, where a whole one would go through memory twice.
namespace quarry::expr {

/// Bands of `rows` positions along `axis` of the output.
struct Bands {
  std::size_t axis;
  std::int64_t rows;
};

/// How to cut an evaluation into `out` so that band i may be written as soon as band i + 1 has been
/// computed: no element of band i is read for the bands after that. Nothing where that does not
/// hold, or for an output that is small anyway. `conflicting[k]` says that array k overlaps `out`.
/// The bands have about `band_bytes` bytes: two of them, and what streams past, stay in the
/// second-level cache of a large GPU.
std::optional<Bands> plan_bands(const DeviceNDArrayBase& out,
                                const DeviceNDArrayBase* const* arrays,
                                std::span<const bool> conflicting,
                                std::int64_t band_bytes = std::int64_t{12} << 20);

/// Runs `program` band by band. Queued in `stream`.
void evaluate_in_bands(const Bands& bands, const kernels::program& program,
                       const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays,
                       const runtime::Scalar* scalars, const Stream& stream);

/// Device memory for a temporary and where its first element lies in it.
struct Temporary {
  std::shared_ptr<Buffer> buffer;
  std::byte* data;
  Layout layout;
};

/// Uninitialised, for elements like those at `like`: laid out as they are, line of memory by line,
/// so that both kernels that meet the temporary write whole lines. Dense if they lie far apart or
/// are not aligned.
Temporary temporary_like(const std::byte* like, const Layout& layout, DType dtype,
                         const Stream& stream);

}  // namespace quarry::expr
