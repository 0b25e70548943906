// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/parameter_block.hpp"

namespace quarry::backend::cuda {

ParameterBlock parameter_block(const KernelCall& call, bool has_axes, std::int64_t chunk) {
  using kernels::block_places;
  const auto rank = has_axes ? static_cast<int>(call.rank()) : 0;
  const block_places at{call.program->operands(), call.program->scalars, rank};
  ParameterBlock block(at.words());
  block[block_places::kept] = static_cast<std::uint64_t>(call.kept);
  block[block_places::reduced] = static_cast<std::uint64_t>(call.reduced);
  block[block_places::chunk] = static_cast<std::uint64_t>(chunk);
  int word = block_places::pointers;
  for (const Operand& operand : call.operands) {
    block[word++] = reinterpret_cast<std::uint64_t>(operand.data);
  }
  for (const Scalar& scalar : call.scalars) {
    for (const std::uint64_t half : scalar.word) block[word++] = half;
  }
  if (!has_axes) return block;
  for (const std::int64_t extent : call.shape) block[word++] = static_cast<std::uint64_t>(extent);
  for (const Operand& operand : call.operands) {
    for (const std::int64_t stride : operand.strides) {
      block[word++] = static_cast<std::uint64_t>(stride);
    }
  }
  return block;
}

}  // namespace quarry::backend::cuda
