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
  return quarry::is_aligned(array.address(), array.layout(), array.dtype());
}

/// Throws ShapeError unless elements of shape `in` can be written into shape `out`, which has as
/// many axes or more; `shown` is that shape as the caller knows it.
void require_broadcast(const Shape& out, const Shape& in, const Shape& shown);

/// An aligned, dense copy.
struct Copy : DeviceNDArrayBase {
  Copy(const DeviceNDArrayBase& of, const Stream& stream);
};

/// The inputs of a kernel that writes to `out` in `stream`, which their memory outlives: the arrays
/// themselves, or aligned copies of misaligned ones. Throws LogicError if an array is on another
/// device than `out`.
class KernelInputs {
 public:
  KernelInputs(const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays, int count,
               const Stream& stream);
  const DeviceNDArrayBase* const* arrays() const {
    return replaced_.empty() ? given_ : replaced_.data();
  }

 private:
  void replace(int count, const Stream& stream);

  const DeviceNDArrayBase* const* given_;
  std::vector<const DeviceNDArrayBase*> replaced_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

/// Memory of the stream's pool for one call, freed in stream order after it.
class BufferWorkspace final : public backend::Workspace {
 public:
  explicit BufferWorkspace(const Stream& stream) : stream_(stream) {}
  void* take(std::size_t bytes) override {
    buffer_ = Buffer::allocate(bytes, stream_);
    return buffer_->address();
  }
  /// None where the stream is captured: launches of a graph have no place in its order.
  std::uint32_t* counter() override;

 private:
  const Stream& stream_;
  std::shared_ptr<Buffer> buffer_, counter_;
};

/// The outputs of a kernel, then its inputs.
SmallArray<runtime::Operand> operands_of(std::span<const runtime::Operand> outputs,
                                         const DeviceNDArrayBase* const* inputs, int count);

}  // namespace quarry::expr
