// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/shape.hpp>
#include <quarry/kernels/program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/small_array.hpp"

/// The one way in which arrays are computed on a device, whatever the family of the kernel.
namespace quarry::backend {

/// An operand of a call: the element at position 0 of all axes, and the bytes from one element to
/// the next along each axis; 0 along an axis on which it does not lie.
struct Operand {
  std::byte* data = nullptr;
  Strides strides;
};

/// A scalar of at most 16 bytes, from the lowest on; the rest is 0. Loops read it as what it is.
struct alignas(16) Scalar {
  std::uint64_t word[2];
};

/// A program, its operands (the outputs, then the inputs) over common axes, and its scalars; the
/// axis that a side operand has besides the common ones is a scalar (kernels/node.hpp). The axes
/// along which the outputs lie come first, then the reduced ones; no extent is 0, and in both
/// groups the innermost axis is the last. Axes are merged where that is possible.
struct KernelCall {
  explicit KernelCall(const kernels::program& of)
      : program(&of), operands(of.operands()), scalars(of.scalars) {}

  const kernels::program* program;
  Shape shape = {};
  std::size_t kept_rank = 0;           ///< how many axes are not reduced
  std::int64_t kept = 1, reduced = 1;  ///< positions on those axes, and on the others
  SmallArray<Operand> operands;
  SmallArray<Scalar, 4> scalars;
  /// Bounds the absolute byte offset of any element of any operand, so that indices of 32 bits can
  /// be chosen.
  std::int64_t span = 0;
  bool along_reduced = false;  ///< the smallest strides of the inputs are those of reduced axes

  std::size_t rank() const { return shape.size(); }
  std::size_t reduced_rank() const { return rank() - kept_rank; }
  /// Whether all operands are dense along the only axis, and none is a side operand.
  bool is_flat() const {
    if (rank() != 1) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (program->is_side[k] || operands[k].strides[0] != program->itemsize[k]) return false;
    }
    return true;
  }
};

/// Device memory for the time of one call, in the order of its stream; asked for at most once.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  virtual void* take(std::size_t bytes) = 0;

 protected:
  ~Workspace() = default;
};

/// Of calls that need no memory: throws LogicError when it is asked.
Workspace& no_workspace();

}  // namespace quarry::backend
