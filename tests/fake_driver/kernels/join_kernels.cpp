// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/join.hpp>

#include <algorithm>
#include <cstring>

#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::join_parts;
using kernels::joined_axis;
using kernels::joined_part;

/// Whether the kernel for parts of few words has all that it takes for granted.
bool can_be_short(const Launch& launch, const join_parts& join, std::int64_t n) {
  constexpr std::int64_t most = 0x7fffffff;
  const joined_axis& axis = join.axis[0];
  const auto is_near = [](const joined_part& part) { return std::abs(part.pitch[0]) <= most; };
  return launch.program->itemsize[0] <= 8 && join.axes == 1 &&
         (axis.wraps == 0 || axis.shift == 0) && n <= most &&
         std::all_of(join.part, join.part + join.parts, is_near);
}

/// Whether the words of a part lie in live memory, aligned to themselves.
bool is_legal(const Launch& launch, const join_parts& join, int k) {
  const std::uint64_t word = launch.program->itemsize[0];
  const joined_part& part = join.part[k];
  if (part.data == 0) return part.value >= 0 && part.value < kernels::most_joined_values;
  const std::int64_t begin = k == 0 ? 0 : join.part[k - 1].end;
  std::int64_t first = begin * std::int64_t(word), past = part.end * std::int64_t(word);
  for (int d = 0; d < join.axes; ++d) {
    const std::int64_t reach = (join.axis[d].size - 1) * part.pitch[d];
    (reach < 0 ? first : past) += reach;
    if (part.pitch[d] % std::int64_t(word) != 0) return false;
  }
  const std::uint64_t lowest = part.data + std::uint64_t(first);
  return lowest % word == 0 &&
         state().memory.find(lowest, static_cast<std::size_t>(past - first), launch.device);
}

join_parts parts_of(const Launch& launch) {
  join_parts join;
  std::memcpy(static_cast<void*>(&join), launch.more.data(), sizeof join);
  return join;
}

/// Writes the rows, of which a thread has `words` words.
CUresult run(const Launch& launch, join_parts join, std::int64_t words) {
  const std::int64_t n = launch.word(kernels::block_places::kept);
  const std::int64_t word = launch.program->itemsize[0];
  if (launch.block_y != 1 || launch.grid_y != 1) return illegal(launch, "blocks have several rows");
  if (launch.grid_x * launch.block_x * words < n) return illegal(launch, "too few blocks");
  if (join.part[join.parts - 1].end != join.columns.extent) {
    return illegal(launch, "the parts make up no row");
  }
  std::int64_t rows = 1;
  for (int d = 0; d < join.axes; ++d) rows *= join.axis[d].result.extent;
  if (rows * join.columns.extent != n) return illegal(launch, "the rows make up no result");
  if (launch.pointer(0) % 16 != 0) return misaligned(launch);
  std::byte* const to =
      state().memory.find(launch.pointer(0), static_cast<std::size_t>(n * word), launch.device);
  if (!to) return illegal(launch, "the result is not in live memory");
  for (int k = 0; k < join.parts; ++k) {
    if (!is_legal(launch, join, k)) return illegal(launch, "a part is not in live memory");
    if (join.part[k].data == 0) continue;
    // to where the host has it
    const auto at = reinterpret_cast<std::uint64_t>(state().memory.find(
        join.part[k].data + std::uint64_t(k == 0 ? 0 : join.part[k - 1].end) * std::uint64_t(word),
        1, launch.device));
    join.part[k].data = at - std::uint64_t(k == 0 ? 0 : join.part[k - 1].end) * std::uint64_t(word);
  }
  static_cast<const kernels::join_loops*>(launch.program->loops)
      ->run(reinterpret_cast<char*>(to), join, 0, rows);
  return CUDA_SUCCESS;
}

CUresult run_join(const Launch& launch) {
  const join_parts join = parts_of(launch);
  const std::int64_t n = launch.word(kernels::block_places::kept);
  const std::int64_t word = launch.program->itemsize[0];
  if (join.axes != launch.argument(0)) return illegal(launch, "the rows have other axes");
  if (launch.argument(1) == 4 && n * word >= std::int64_t{1} << 31) {
    return illegal(launch, "32 bits have not all places");
  }
  const auto is_filled = [](const joined_part& part) { return part.data == 0; };
  const joined_axis& axis = join.axis[0];
  const bool has_filled = (axis.wraps == 0 && axis.shift != 0) || axis.size != axis.result.extent ||
                          std::any_of(join.part, join.part + join.parts, is_filled);
  const bool may_be_filled = launch.argument(2) != 1;
  if (launch.argument(2) != 0 &&
      !(can_be_short(launch, join, n) && (may_be_filled || !has_filled))) {
    return illegal(launch, "the kernel for parts of few words cannot make this join");
  }
  return run(launch, join, 16 / word);
}

CUresult run_interleave(const Launch& launch) {
  const join_parts join = parts_of(launch);
  const std::int64_t word = launch.program->itemsize[0];
  const joined_axis& axis = join.axis[0];
  const auto is_one_dense_word = [&](int k) {
    const joined_part& part = join.part[k];
    return part.data != 0 && part.end == k + 1 && part.pitch[0] == word;
  };
  bool is_legal = word <= 2 && join.parts == launch.argument(0) && join.axes == 1 &&
                  axis.shift == 0 && axis.size == axis.result.extent;
  for (int k = 0; k < join.parts; ++k) is_legal = is_legal && is_one_dense_word(k);
  if (!is_legal) return illegal(launch, "the kernel for parts of one word cannot make this join");
  return run(launch, join, 16 / word * join.parts);
}

}  // namespace

std::span<const Kernel> join_kernels() {
  static constexpr auto rank = [](const std::vector<int>&) { return 0; };
  static constexpr Kernel kernels[] = {
      {"join", "join", 3, 256, rank, {sizeof(join_parts)}, run_join},
      {"join", "interleave", 1, 256, rank, {sizeof(join_parts)}, run_interleave}};
  return kernels;
}

}  // namespace quarry::fake
