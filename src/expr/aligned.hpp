// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "base/small_array.hpp"
#include "runtime/launch.hpp"

namespace quarry::expr {

inline bool is_aligned(const DeviceNDArrayBase& array) {
  return quarry::is_aligned(array.device_pointer(), array.layout(), array.dtype());
}

/// Throws LogicError if the two are not on one device.
void require_same_device(const DeviceNDArrayBase& out, const DeviceNDArrayBase& in);

/// The inputs of a kernel: as they are, but for misaligned ones, of which it holds aligned copies.
class AlignedInputs {
 public:
  AlignedInputs(const DeviceNDArrayBase* const* arrays, int count, const Stream& stream);
  const DeviceNDArrayBase* const* arrays() const {
    return replaced_.empty() ? given_ : replaced_.data();
  }

 private:
  struct Copy : DeviceNDArrayBase {
    Copy(const DeviceNDArrayBase& of, const Stream& stream);
  };
  void replace(int count, const Stream& stream);

  const DeviceNDArrayBase* const* given_;
  std::vector<const DeviceNDArrayBase*> replaced_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

/// The outputs of a kernel, then its inputs.
SmallArray<runtime::Operand> operands_of(std::span<const runtime::Operand> outputs,
                                         const DeviceNDArrayBase* const* inputs, int count);

}  // namespace quarry::expr
