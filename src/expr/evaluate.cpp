// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/overlap.hpp>
#include <quarry/expr/evaluate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/small_array.hpp"
#include "expr/kernel_inputs.hpp"
#include "memory/write_log.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {

Shape detail::broadcast(const Shape& a, const Shape& b) {
  if (a == b || b.empty()) return a;
  if (a.empty()) return b;
  return broadcast_shapes(a, b);
}

namespace {

/// The output with leading axes of extent 1, so that it has as many axes as every input: NumPy's
/// assignment drops such axes of what it writes.
class Widened : public DeviceNDArrayBase {
 public:
  Widened(const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays, int count)
      : DeviceNDArrayBase(out) {
    for (int k = 0; k < count; ++k) {
      while (ndim() < arrays[k]->ndim()) {
        layout_.shape.insert(0, 1);
        layout_.strides.insert(0, 0);
      }
    }
    for (int k = 0; k < count; ++k) require_broadcast(shape(), arrays[k]->shape(), out.shape());
  }
};

bool has_fewer_axes(const DeviceNDArrayBase& out, const DeviceNDArrayBase* const* arrays,
                    int count) {
  return std::any_of(arrays, arrays + count,
                     [&](const auto* array) { return array->ndim() > out.ndim(); });
}

/// Whether writing `out` element by element could change an element of `in` that is still to be
/// read. Any element of a side operand may be read for any of `out`.
bool conflicts(const DeviceNDArrayBase& out, const DeviceNDArrayBase& in, bool is_side) {
  if (!in.buffer()->shares_memory(*out.buffer()) || !out.buffer()->address()) return false;
  if (is_side) return true;
  if (in.address() == out.address() && in.dtype() == out.dtype() && in.layout() == out.layout()) {
    return false;
  }
  return overlap(out.address(), out.layout(), out.dtype().itemsize(), in.address(), in.layout(),
                 in.dtype().itemsize()) != Overlap::disjoint;
}

/// Where a temporary's first element lies in its buffer, and its layout.
struct Placement {
  std::size_t bytes, offset;
  Layout layout;
};

/// As `out`, line of memory by line, so that both kernels that meet the temporary write whole
/// lines. Dense if the elements of `out` lie far apart or are not aligned.
Placement placement_like(const DeviceNDArrayBase& out) {
  constexpr std::size_t line = 128;
  const std::size_t itemsize = out.dtype().itemsize();
  const ByteBounds bounds = byte_bounds(out.layout(), itemsize);
  const auto reach = static_cast<std::size_t>(bounds.past - bounds.lowest);
  if (reach / 2 > out.nbytes() || !is_aligned(out)) {
    return {out.nbytes(), 0, {out.shape(), c_strides(out.shape(), itemsize)}};
  }
  const std::size_t before = reinterpret_cast<std::uintptr_t>(out.address() + bounds.lowest) % line;
  return {before + reach, before + static_cast<std::size_t>(-bounds.lowest), out.layout()};
}

void evaluate_through_temporary(const kernels::program& program, const DeviceNDArrayBase& out,
                                const DeviceNDArrayBase* const* arrays,
                                const kernels::u64 (*scalars)[2], const Stream& stream,
                                bool positions, bool partial) {
  const Placement place = placement_like(out);
  const auto buffer = Buffer::allocate(place.bytes, stream);
  std::byte* const data = buffer->address() + place.offset;
  const DeviceRef copied{data, out.dtype(), place.layout, buffer.get()};
  if (partial) copy_elements(copied, out.ref(), stream);
  const runtime::Operand temporary{data, &place.layout};
  BufferWorkspace workspace(stream);
  runtime::launch_map(program, operands_of({&temporary, 1}, arrays, program.inputs), scalars,
                      stream, positions, workspace);
  copy_elements(out.ref(), copied, stream);
}

}  // namespace

void evaluate_into(const kernels::program& program, const DeviceNDArrayBase& out,
                   const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                   bool positions, bool partial, const quarry::detail::QueuedCheck* check,
                   bool is_new) {
  if (has_fewer_axes(out, arrays, program.inputs)) [[unlikely]] {
    const Widened wide(out, arrays, program.inputs);
    return evaluate_into(program, wide, arrays, scalars, positions, partial, check, is_new);
  }
  const Stream& stream = quarry::detail::stream_for(out);
  bool through_temporary = !is_aligned(out);
  for (int k = 0; k < program.inputs; ++k) {
    require_broadcast(out.shape(), arrays[k]->shape(), out.shape());
    through_temporary =
        through_temporary || conflicts(out, *arrays[k], program.own[program.outputs + k].count > 0);
  }
  if (!out.is_c_contiguous()) {
    require_no_aliases(out.layout(), out.dtype().itemsize());
  }
  const KernelInputs inputs(out, arrays, program.inputs, stream);
  out.buffer()->used_on(stream);
  memory::note_write(out.address(), out.layout(), out.dtype().itemsize());
  if (through_temporary) {
    if (check) check->require();
    return evaluate_through_temporary(program, out, inputs.arrays(), scalars, stream, positions,
                                      partial);
  }
  const runtime::Operand output{out.address(), &out.layout()};
  BufferWorkspace workspace(stream);
  runtime::launch_map(program, operands_of({&output, 1}, inputs.arrays(), program.inputs), scalars,
                      stream, positions, workspace, {check, is_new});
  if (check) check->require();
}

void evaluate_together(const kernels::program& program, const DeviceNDArrayBase* const* outs,
                       const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                       bool positions) {
  const Stream& stream = quarry::detail::stream_for(*outs[0]);
  const KernelInputs inputs(*outs[0], arrays, program.inputs, stream);
  SmallArray<runtime::Operand> outputs(program.outputs);
  for (int k = 0; k < program.outputs; ++k) {
    outs[k]->buffer()->used_on(stream);
    outputs[k] = {outs[k]->address(), &outs[k]->layout()};
  }
  runtime::launch_map(program, operands_of(outputs, inputs.arrays(), program.inputs), scalars,
                      stream, positions);
}

void require_one_shape(std::span<const Shape> shapes) {
  for (const Shape& shape : shapes) {
    require<ShapeError>(shape == shapes[0], [&] {
      return fmt::format("eval of expressions of shapes {} and {}: one kernel has one shape",
                         to_string(shapes[0]), to_string(shape));
    });
  }
}

void require_in_place(const Shape& result, const Shape& array) {
  require<ShapeError>(result == array, [&] {
    return fmt::format("an operation in place on shape {} would give shape {}", to_string(array),
                       to_string(result));
  });
}

}  // namespace quarry::expr
