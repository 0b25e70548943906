// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/reduce.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "expr/aligned.hpp"
#include "runtime/launch.hpp"

namespace quarry::expr {

ReducePlan::ReducePlan(const Shape& shape, const ReduceAxes& axes, const ReduceOptions& options)
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
                 const ReducePlan& plan, const DeviceNDArrayBase* const* arrays,
                 const kernels::u64 (*scalars)[2], bool positions) {
  const Stream& stream = quarry::detail::stream_for(out);
  std::vector<runtime::Operand> operands{{out.device_pointer(), &out.layout()}};
  for (int k = 0; k < program.inputs; ++k) {
    require_same_device(out, *arrays[k]);
    arrays[k]->buffer()->used_on(stream);
  }
  const AlignedInputs inputs(arrays, program.inputs, stream);
  for (int k = 0; k < program.inputs; ++k) {
    operands.push_back({inputs.arrays()[k]->device_pointer(), &inputs.arrays()[k]->layout()});
  }
  out.buffer()->used_on(stream);
  const runtime::Reduction reduction(program, plan.input, {plan.reduced, plan.input.size()},
                                     operands, scalars, positions);
  const std::size_t bytes = reduction.scratch_bytes(stream);
  const auto scratch = Buffer::allocate(bytes, stream);
  reduction.launch(scratch->data(), stream);
}

void throw_empty_reduction(const char* name, const Shape& shape) {
  throw ShapeError(
      fmt::format("{} of no elements: the array has shape {}", name, to_string(shape)));
}

}  // namespace quarry::expr
