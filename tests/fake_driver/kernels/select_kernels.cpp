// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/select.hpp>

#include <algorithm>
#include <cstring>

#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

constexpr int out = 1, inputs = 2;  // operands

using kernels::select_pass;

kernels::select_marks marks_of(const Launch& launch) {
  kernels::select_marks marks;
  std::memcpy(&marks, launch.more.data(), sizeof marks);
  return marks;
}

/// Whether a mask selects rows of a dense operand.
bool has_rows(const Launch& launch, const Operands& operands) {
  if (!launch.program->copies || launch.rank() != 2) return false;
  const std::int64_t size = launch.program->itemsize[inputs + 1], bytes = size * operands.extent(1);
  return operands.stride(inputs, 1) == 0 && operands.stride(inputs + 1, 1) == size &&
         operands.stride(inputs + 1, 0) == bytes && bytes <= kernels::select_row_bytes;
}

/// Empty when the warps have a bit for every element, and memory for them.
std::string wrong_words(const Launch& launch) {
  constexpr std::int64_t warps = kernels::select_threads / 32;
  const kernels::select_marks marks = marks_of(launch);
  const std::int64_t words = marks.words_of_warp * warps * launch.grid_x;
  if (launch.block_x != kernels::select_threads || launch.block_y != 1 || launch.grid_y != 1) {
    return "the blocks have the wrong size";
  }
  if (marks.words_of_warp % launch.argument(2) != 0) return "warps share a vector";
  const Operands operands = launch.operands(true);
  const std::int64_t bits = marks.rows ? operands.extent(0) : launch.word(block_places::kept);
  if (32 * words < bits) return "there are too few bits";
  if (marks.rows && !has_rows(launch, operands)) return "no rows are selected";
  if (marks.pass == select_pass::both) {
    return launch.grid_x == 1 && words <= kernels::select_words ? "" : "one block is too little";
  }
  const auto is_there = [&](const auto* memory, std::int64_t count) {
    return state().memory.find(reinterpret_cast<std::uint64_t>(memory),
                               static_cast<std::size_t>(count) * sizeof *memory, launch.device);
  };
  const bool are_there = is_there(marks.bits, words) && is_there(marks.counts, launch.grid_x);
  return are_there ? "" : "the bits or the counts are not in live memory";
}

/// Calls f(n, addresses, strides, position) for the runs along the last axis.
template <class F>
bool for_runs(const Launch& launch, const Operands& operands, const F& f) {
  const int inner = launch.rank() - 1;
  const std::int64_t columns = operands.extent(inner), n = launch.word(block_places::kept);
  const std::int64_t step = operands.run(columns);
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, inner));
  std::vector<char*> addresses;
  for (std::int64_t i = 0; i < n; i += step) {
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, i / columns, 0, inner);
    operands.advance(offsets, i % columns, inner, inner + 1);
    if (!operands.resolve(offsets, addresses)) return false;
    f(step, addresses.data(), strides.data(), i);
  }
  return true;
}

CUresult run_select(const Launch& given) {
  if (const std::string wrong = wrong_words(given); !wrong.empty()) return illegal(given, wrong);
  Launch launch = given;
  const bool is_stored = launch.pointer(out) != 0;
  // where nothing is stored the count's memory stands for that of the values
  if (!is_stored) launch.words[block_places::pointers + out] = launch.pointer(0);
  const select_pass pass = marks_of(launch).pass;
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const int inner = launch.rank() - 1, width = launch.argument(2);
  if (inner > 0 && operands.extent(inner) % width != 0) return misaligned(launch);
  if (!has_legal_vectors(launch, operands, inputs, width, launch.argument(3), inner)) {
    return misaligned(launch);
  }
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const auto& loops = *static_cast<const kernels::select_loops*>(launch.program->loops);
  std::int64_t kept = 0, rank = 0;
  bool is_inside = for_runs(launch, operands, [&](auto n, auto at, auto strides, auto i) {
    kept += loops.count(n, at, strides, launch.scalars(), i);
  });
  std::byte* const count = state().memory.find(launch.pointer(0), sizeof kept, launch.device);
  if (!count || !is_inside) return illegal(launch, "an operand is not in live memory");
  if (pass != select_pass::both) {
    const auto counts = reinterpret_cast<std::uint64_t>(marks_of(launch).counts);
    auto* const of_first = state().memory.find(counts, sizeof kept, launch.device);
    auto& counted = *reinterpret_cast<std::int64_t*>(of_first);
    if (pass == select_pass::first) {
      counted = kept;
      return CUDA_SUCCESS;
    }
    if (counted != kept) return illegal(launch, "the first pass has not been made");
  }
  *reinterpret_cast<std::int64_t*>(count) = kept;
  if (!is_stored || kept == 0) return CUDA_SUCCESS;
  bool is_dense = true;
  for (int axis = 0; axis <= inner; ++axis) is_dense &= operands.stride(out, axis) == 0;
  const auto bytes = static_cast<std::size_t>(kept) * launch.program->itemsize[out];
  if (is_dense && !state().memory.find(launch.pointer(out), bytes, launch.device)) {
    return illegal(launch, "there is too little memory for the values");
  }
  is_inside = for_runs(launch, operands, [&](auto n, auto at, auto strides, auto i) {
    const std::int64_t here = loops.count(n, at, strides, launch.scalars(), i);
    loops.store(n, at, strides, launch.scalars(), i, rank, here);
    rank += here;
  });
  return is_inside ? CUDA_SUCCESS : illegal(launch, "an operand is not in live memory");
}

}  // namespace

std::span<const Kernel> select_kernels() {
  static constexpr auto rank = [](const std::vector<int>& arguments) { return arguments[0]; };
  static constexpr Kernel kernels[] = {
      {"select", "select", 4, 512, rank, {sizeof(kernels::select_marks)}, run_select}};
  return kernels;
}

}  // namespace quarry::fake
