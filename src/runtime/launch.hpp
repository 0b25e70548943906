// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/runtime/stream.hpp>

#include <span>

#include "backend/backend.hpp"

/// From operands with layouts to calls of the backend: they broadcast, and axes are ordered and
/// merged.
namespace quarry::runtime {

/// A layout of lower rank, or with extents 1, broadcasts.
struct Operand {
  const std::byte* data;
  const Layout* layout;
  bool is_private = false;  ///< see Buffer::is_private()
};

using Scalar = kernels::u64[2];

/// Of a map: nothing is written if `check` finds something, or if the output `is_new` something may
/// be.
struct MapCheck {
  const detail::QueuedCheck* check = nullptr;
  bool is_new = false;
};

/// Runs a map over the shape of operands[0]: its outputs, which have that shape, then its inputs.
/// Queued in `stream`. `ordered` keeps the axes in C order of the outputs, for programs that use
/// positions. Maps with side operands may take memory. Nothing runs without elements.
void launch_map(const kernels::program& program, std::span<const Operand> operands,
                const Scalar* scalars, const Stream& stream, bool ordered = false,
                backend::Workspace& workspace = backend::no_workspace(),
                const MapCheck& check = {});

/// Runs a reduction of operands 1.. over the axes of `shape` marked in `reduced`; operand 0 is the
/// output, with the kept axes or, if every element has a result, with all. `positions`: it returns
/// positions in C order of the reduced axes. Wants at least one reduced element and one output.
void launch_reduction(const kernels::program& program, const Shape& shape,
                      std::span<const bool> reduced, std::span<const Operand> operands,
                      const Scalar* scalars, bool positions, backend::Workspace& workspace,
                      const Stream& stream);

/// Runs a selection over the elements of `shape`, in C order. Output 0 is an i64 that becomes their
/// number; output 1 gets their values, one behind another from `data` on, or the elements
/// themselves where it has a layout; with `data` nullptr nothing is stored. Wants an element.
void launch_selection(const kernels::program& program, const Shape& shape,
                      std::span<const Operand> operands, const Scalar* scalars,
                      backend::Workspace& workspace, const Stream& stream);

/// Writes a dense array at `to`, in words of the size of the program's, which is a join_of.
void launch_join(const kernels::program& program, std::byte* to,
                 std::shared_ptr<const kernels::join_parts> parts, const Stream& stream);

}  // namespace quarry::runtime
