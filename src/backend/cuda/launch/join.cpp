// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/params.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

bool can_be_by_words(const kernels::join_parts& join, std::int64_t words) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto* const end = join.part + join.parts;
  const auto is_near = [](const auto& part) {
    return part.data != 0 && std::abs(part.pitch[0]) <= most;
  };
  const kernels::joined_axis& axis = join.axis[0];
  return join.axes == 1 && axis.shift == 0 && axis.size == axis.result.extent && words < most &&
         std::all_of(join.part, end, is_near);
}

}  // namespace

void launch_join(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::join_parts& join = *call.joined;
  const std::int64_t width = 16 / std::int64_t{call.program->itemsize[0]};
  const bool is_wide = needs_wide_index(call.span, call.kept);
  // a vector of few parts shifts each into its place, which takes longer than 3 words of their own
  const bool is_short = width >= 4 && join.columns.extent * 3 < join.parts * width &&
                        can_be_by_words(join, call.kept);
  launcher.run_early(Join{join.axes, is_wide ? 8 : 4, is_short},
                     {flat_grid(divide_up(call.kept, width), 1), 1, flat_threads, 1},
                     parameter_block(call, false, call.reduced), join);
}

}  // namespace quarry::backend::cuda
