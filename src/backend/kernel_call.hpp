// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/queued_check.hpp>
#include <quarry/base/shape.hpp>
#include <quarry/kernels/join_parts.hpp>
#include <quarry/kernels/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/small_array.hpp"

/// The call that launches the kernels of every family, on every kind of device.
namespace quarry::backend {

/// An operand of a call: the address of its element at index 0, and its strides in bytes along the
/// call's axes. The stride is 0 along an axis that the operand does not have (broadcasting).
struct Operand {
  std::byte* data = nullptr;
  Strides strides;
};

/// A scalar argument of at most 16 bytes, in the low bytes; the rest is 0.
struct alignas(16) Scalar {
  std::uint64_t word[2];
};

/// A program, its operands (the outputs, then the inputs) over common axes, and its scalars; the
/// axis that a side operand has besides the common ones is a scalar (kernels/node.hpp). The axes of
/// the outputs come first, then the reduced ones. No extent is 0; in both groups the innermost axis
/// is the last one, and axes are merged where the strides allow it. Of a reduction that returns
/// positions the output has, where the reduced axes are not in C order, their positions' strides.
struct KernelCall {
  explicit KernelCall(const kernels::program& of)
      : program(&of), operands(of.operands()), scalars(of.scalars) {}

  const kernels::program* program;
  Shape shape = {};
  std::size_t kept_rank = 0;           ///< number of axes that are not reduced
  std::int64_t kept = 1, reduced = 1;  ///< output elements; elements reduced into each
  SmallArray<Operand> operands;
  SmallArray<Scalar, 4> scalars;
  /// An upper bound of the absolute byte offset of every element of every operand: it decides
  /// whether 32-bit indices suffice.
  std::int64_t span = 0;
  bool any_order = false;  ///< of a map: its program does not use positions
  /// No other code has the addresses of the inputs, so that only kernels of this library, and what
  /// else is asked of the device through it, can write them.
  bool inputs_are_private = false;
  bool is_captured = false;    ///< the kernels run when a graph is launched
  bool along_reduced = false;  ///< the smallest strides of the inputs are those of reduced axes
  /// Of a map: it writes nothing if this finds something, unless `is_new`: then nobody has the
  /// output yet, and its kernel may make the check. Not on the CPU.
  const quarry::detail::QueuedCheck* check = nullptr;
  const quarry::Stream* check_stream = nullptr;  ///< the stream of the call
  bool is_new = false;
  std::shared_ptr<const kernels::join_parts> joined;  ///< of a join, the result of which is flat

  std::size_t rank() const { return shape.size(); }
  /// The word that kernels look at before they write (`chunk` in params.hpp), or 0.
  std::int64_t word_of_check() const {
    return reinterpret_cast<std::int64_t>(check ? check->word(*check_stream) : nullptr);
  }
  std::size_t reduced_rank() const { return rank() - kept_rank; }
  bool has_sides() const {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (program->is_side(k)) return true;
    }
    return false;
  }
  /// Whether all operands are dense along the only axis, and none is a side operand.
  bool is_flat() const {
    if (rank() != 1 || has_sides()) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].strides[0] != program->itemsize[k]) return false;
    }
    return true;
  }
};

/// Temporary device memory of one call, valid in the order of its stream; take() is called at most
/// once.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  virtual void* take(std::size_t bytes) = 0;
  /// A word that is 0, which the kernels of the call use in the order of the stream and leave 0;
  /// nullptr if there is none.
  virtual std::uint32_t* counter() { return nullptr; }

 protected:
  ~Workspace() = default;
};

/// For calls that need no memory: take() throws LogicError.
Workspace& no_workspace();

}  // namespace quarry::backend
