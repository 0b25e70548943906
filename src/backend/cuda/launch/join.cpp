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
  const auto is_near = [](const auto& part) { return std::abs(part.pitch[0]) <= most; };
  const kernels::joined_axis& axis = join.axis[0];
  const bool is_rolled = axis.wraps != 0 && axis.shift != 0;
  return join.axes == 1 && !is_rolled && words < most &&
         std::all_of(join.part, join.part + join.parts, is_near);
}

/// Whether words are read faster one by one than as vectors, each of which has some words of
/// several parts, to be shifted into their places: up to so many bytes a part, as measured.
bool has_short_parts(const kernels::join_parts& join, std::int64_t word) {
  const std::int64_t bytes = join.columns.extent * word, most = word == 1 ? 7 : word == 2 ? 24 : 16;
  return word <= 8 && bytes <= most * join.parts;
}

/// Whether some of the words are those of no part.
bool has_filled(const kernels::join_parts& join) {
  const auto is_filled = [](const auto& part) { return part.data == 0; };
  const kernels::joined_axis& axis = join.axis[0];
  return (axis.wraps == 0 && axis.shift != 0) || axis.size != axis.result.extent ||
         std::any_of(join.part, join.part + join.parts, is_filled);
}

/// Whether rows have one word of each part, which are dense. Larger words are as fast one by one.
bool is_interleaved(const kernels::join_parts& join, std::int64_t word) {
  constexpr std::int64_t largest_word = 2;
  constexpr int most_parts = 8;  // which have 36 KiB of shared memory
  const auto is_dense = [&](const auto& part) { return part.pitch[0] == word; };
  return word <= largest_word && join.parts >= 2 && join.parts <= most_parts && join.axes == 1 &&
         join.axis[0].shift == 0 && !has_filled(join) && join.columns.extent == join.parts &&
         std::all_of(join.part, join.part + join.parts, is_dense);
}

}  // namespace

void launch_join(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::join_parts& join = *call.joined;
  const std::int64_t word = call.program->itemsize[0], width = 16 / word;
  if (is_interleaved(join, word)) {
    launcher.run_early(Interleave{join.parts},
                       {flat_grid(divide_up(call.kept, width * join.parts), 1), 1, flat_threads, 1},
                       parameter_block(call, false, call.reduced), join);
    return;
  }
  const bool is_wide = needs_wide_index(call.span, call.kept);
  const bool is_short = has_short_parts(join, word) && can_be_by_words(join, call.kept);
  const int words = !is_short ? 0 : has_filled(join) ? 2 : 1;
  launcher.run_early(Join{join.axes, is_wide ? 8 : 4, words},
                     {flat_grid(divide_up(call.kept, width), 1), 1, flat_threads, 1},
                     parameter_block(call, false, call.reduced), join);
}

}  // namespace quarry::backend::cuda
