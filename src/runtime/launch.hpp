// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/runtime/stream.hpp>

#include <span>

#include "backend/backend.hpp"

/// From operands with layouts to calls of the backend: axes are ordered and collapsed, and the
/// parameter block is packed.
namespace quarry::runtime {

/// A layout of lower rank, or with extents 1, broadcasts.
struct Operand {
  const std::byte* data;
  const Layout* layout;
};

using Scalar = kernels::u64[2];

/// Runs a map over operands[0].layout->shape; operand 0 is the output. Queued in `stream`.
/// `ordered` keeps the axes in C order of the output, for programs that use positions. Nothing runs
/// without elements.
void launch_map(const kernels::program& program, std::span<const Operand> operands,
                const Scalar* scalars, const Stream& stream, bool ordered = false);

/// A reduction of operands 1.. over the axes of `shape` marked in `reduced`; operand 0 is the
/// output with the kept axes. `ordered` keeps the order of the reduced axes, for reductions that
/// return positions. Wants at least one reduced element and one output. `scratch` gives device
/// memory for the call.
class Reduction {
 public:
  Reduction(const kernels::program& program, const Shape& shape, std::span<const bool> reduced,
            std::span<const Operand> operands, const Scalar* scalars, bool ordered);
  std::size_t scratch_bytes(const Stream& stream) const;
  void launch(void* scratch, const Stream& stream) const;

 private:
  backend::ReduceCall call_;
};

}  // namespace quarry::runtime
