// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/checked_map.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

/// Null if it is not in live memory.
template <class T>
T* number_at(const Launch& launch, std::int64_t address) {
  return reinterpret_cast<T*>(
      state().memory.find(static_cast<std::uint64_t>(address), sizeof(T), launch.device));
}

/// Whether the check that the kernel looks at has found nothing. None if it is not in live memory.
std::optional<bool> may_write(const Launch& launch) {
  const std::int64_t at = launch.word(block_places::chunk);
  if (at == 0) return true;
  const auto* const word = number_at<const std::int64_t>(launch, at);
  return word ? std::optional(*word == 0) : std::nullopt;
}

std::int64_t signed_number(const char* at, std::uint32_t size) {
  std::int64_t number = 0;
  std::memcpy(reinterpret_cast<char*>(&number) + sizeof number - size, at, size);
  return number >> (8 * (sizeof number - size));
}

/// Of a map into what nobody else has.
CUresult run_checking(const Launch& launch, const Operands& operands, int wide, std::int64_t word,
                      const std::function<CUresult()>& run) {
  const kernels::program& program = *launch.program;
  const std::int64_t place = launch.word(block_places::chunk);
  const auto* const counter =
      number_at<const std::uint32_t>(launch, launch.word(block_places::reduced));
  auto* const left = number_at<std::int64_t>(launch, place);
  auto* const left_here = number_at<std::int64_t>(launch, word != 0 ? word : place);
  if (!counter || !left || !left_here)
    return illegal(launch, "the words of a check are not in live memory");
  if (*counter != 0) return illegal(launch, "the counter of warps is not 0");
  const bool finds_owners = program.is_side(0) && program.operands() == 2 && word != 0;
  const int side = finds_owners ? 0 : program.rows_at == 1 ? 2 : 1;
  const bool copies = program.operands() == 3 && wide == 1 << (side - 1);
  if (program.rows_at <= 0 || !(copies || finds_owners))
    return illegal(launch, "only maps that copy rows, or find owners, check positions");
  if (launch.block_x * launch.block_y % 32 != 0) return illegal(launch, "a warp is not whole");
  if (finds_owners && launch.grid_x * launch.block_x / 32 >= 1 << 16)
    return illegal(launch, "the warps are too many for their counter");
  if (const CUresult result = run()) return result;
  const int inner = launch.rank() - (finds_owners ? 0 : 1);
  const std::int64_t kept = launch.word(block_places::kept);
  const std::int64_t rows = finds_owners ? kept : kept / operands.extent(inner);
  const auto extent = static_cast<std::int64_t>(launch.scalars()[2 * program.own[side].first]);
  std::int64_t outside = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, row, 0, inner);
    std::vector<char*> addresses;
    if (!operands.resolve(offsets, addresses)) return illegal(launch, "an offset has wrapped");
    const auto operand = static_cast<std::size_t>(program.rows_at);
    const std::int64_t position = signed_number(addresses[operand], program.itemsize[operand]);
    if (position < -extent || position >= extent) ++outside;
  }
  *left_here = outside;
  __atomic_store_n(left, outside, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult run_checked(const Launch& launch, const Operands& operands, int wide, std::int64_t word,
                     const std::function<CUresult()>& run) {
  if (launch.word(block_places::reduced) != 1)
    return run_checking(launch, operands, wide, word, run);
  const std::optional<bool> may = may_write(launch);
  if (!may) return illegal(launch, "the word of a check is not in live memory");
  return *may ? run() : CUDA_SUCCESS;
}

}  // namespace quarry::fake
