// SPDX-License-Identifier: BSD-3-Clause
#include "expr/kernel_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "memory/zeroed_line.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {
namespace {

void require_same_device(const DeviceNDArrayBase& out, const DeviceNDArrayBase& in) {
  if (in.buffer() == out.buffer()) return;
  require<LogicError>(in.device() == out.device(), [&] {
    return fmt::format("arrays of two devices in one expression: {} and {}", to_string(in.device()),
                       to_string(out.device()));
  });
}

}  // namespace

void require_broadcast(const Shape& out, const Shape& in, const Shape& shown) {
  const auto broadcasts = [](std::int64_t a, std::int64_t b) { return a == b || a == 1; };
  if (in == out) return;
  require<ShapeError>(std::equal(in.begin(), in.end(), out.end() - in.size(), broadcasts), [&] {
    return fmt::format("cannot write shape {} into shape {}", to_string(in), to_string(shown));
  });
}

Copy::Copy(const DeviceNDArrayBase& of, const Stream& stream)
    : DeviceNDArrayBase(of.dtype(), of.shape(), {.stream = stream}) {
  copy_elements(ref(), of.ref(), stream);
}

KernelInputs::KernelInputs(const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays,
                           int count, const Stream& stream)
    : given_(arrays) {
  for (int k = 0; k < count; ++k) require_same_device(out, *arrays[k]);
  for (int k = 0; k < count; ++k) arrays[k]->buffer()->used_on(stream);
  const bool all =
      std::all_of(arrays, arrays + count, [](const auto* a) { return is_aligned(*a); });
  if (!all) replace(count, stream);
}

void KernelInputs::replace(int count, const Stream& stream) {
  for (int k = 0; k < count; ++k) {
    if (is_aligned(*given_[k])) {
      replaced_.push_back(given_[k]);
    } else {
      copies_.push_back(std::make_unique<Copy>(*given_[k], stream));
      replaced_.push_back(copies_.back().get());
    }
  }
}

SmallArray<runtime::Operand> operands_of(std::span<const runtime::Operand> outputs,
                                         const DeviceNDArrayBase* const* inputs, int count) {
  SmallArray<runtime::Operand> all(outputs.size() + static_cast<std::size_t>(count));
  auto* next = std::ranges::copy(outputs, all.begin()).out;
  for (int k = 0; k < count; ++k) {
    *next++ = {inputs[k]->address(), &inputs[k]->layout(), inputs[k]->buffer()->is_private()};
  }
  return all;
}

std::uint32_t* BufferWorkspace::counter() {
  if (stream_.state().is_captured()) return nullptr;
  counter_ = memory::new_zeroed_line(stream_);
  return reinterpret_cast<std::uint32_t*>(counter_->data());
}

}  // namespace quarry::expr
