// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/reduce.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "expr/kernel_inputs.hpp"
#include "runtime/launch.hpp"

namespace quarry::expr {

ReducedShape::ReducedShape(const Shape& shape, const ReduceAxes& axes, const ReduceOptions& options)
    : input(shape) {
  std::fill(std::begin(reduced), std::end(reduced), axes.all());
  if (!axes.all()) {
    const std::size_t rank = axes.one() && shape.empty() ? 1 : shape.size();
    for (const std::int64_t axis : normalize_axes(axes.list(), rank)) {
      reduced[static_cast<std::size_t>(axis)] = true;
    }
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (reduced[d]) {
      count = count == 0 || shape[d] == 0 ? 0 : checked_mul(count, shape[d]);
      if (options.keepdims) result.push_back(1);
    } else {
      kept.push_back(shape[d]);
      result.push_back(shape[d]);
    }
  }
}

void reduce_into(const kernels::program& program, const DeviceNDArrayBase& out,
                 const ReducedShape& shape, const DeviceNDArrayBase* const* arrays,
                 const kernels::u64 (*scalars)[2], bool positions) {
  const Stream& stream = quarry::detail::stream_for(out);
  const KernelInputs inputs(out, arrays, program.inputs, stream);
  const runtime::Operand output{out.address(), &out.layout()};
  out.buffer()->used_on(stream);
  BufferWorkspace workspace(stream);
  runtime::launch_reduction(program, shape.input, {shape.reduced, shape.input.size()},
                            operands_of({&output, 1}, inputs.arrays(), program.inputs), scalars,
                            positions, workspace, stream);
}

void throw_empty_reduction(const char* name, const Shape& shape) {
  throw ShapeError(
      fmt::format("{} of no elements: the array has shape {}", name, to_string(shape)));
}

}  // namespace quarry::expr
