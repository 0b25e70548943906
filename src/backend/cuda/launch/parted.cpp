// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/parted.hpp"

#include <quarry/kernels/params.hpp>

#include <algorithm>
#include <bit>
#include <optional>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::single_access;

/// The side operand whose single elements a map accesses.
std::optional<std::size_t> accessed(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::program& program = *call.program;
  const CallOperands& operands = launcher.operands;
  if (program.singles == single_access::none || call.rank() != 1) return std::nullopt;
  const auto is_single = [&](std::size_t k) {
    return program.is_side(k) && operands.last_stride(k) == 0;
  };
  if (program.singles != single_access::read) return is_single(0) ? std::optional(0) : std::nullopt;
  if (program.outputs != 1 || operands.last_stride(0) != program.itemsize[0]) return std::nullopt;
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    if (is_single(k)) return k;
  }
  return std::nullopt;
}

/// The bytes from the lowest place of a side operand on, relative to its pointer.
struct Places {
  std::int64_t first = 0, bytes = 0;
};

Places places_of(const KernelCall& call, std::size_t operand) {
  const kernels::own_axes own = call.program->own[operand];
  Places all{0, call.program->itemsize[operand]};
  for (int s = own.first; s < own.first + own.count; ++s) {
    const auto& axis = call.scalars[static_cast<std::size_t>(s)].word;  // kernels::side_axis
    const auto last = static_cast<std::int64_t>((axis[0] - 1) * axis[1]);
    if (last < 0) all.first += last;
    all.bytes += last < 0 ? -last : last;
  }
  return all;
}

}  // namespace

std::optional<PartedCut> cut_of_elements(std::int64_t bytes, std::int64_t size, std::int64_t count,
                                         std::int64_t cache) {
  constexpr std::int64_t usual = std::int64_t{4} << 20, bytes_an_element = 32;
  constexpr std::int64_t most_places = 0xffffffff;  // places are words; one word is no place
  if (bytes <= cache || bytes / bytes_an_element > count) return std::nullopt;
  if (divide_up(bytes, size) > most_places) return std::nullopt;
  std::int64_t part = usual;
  while (divide_up(bytes, part) > kernels::most_parts) part *= 2;
  if (part > usual && part > cache / 4) return std::nullopt;
  return PartedCut{std::countr_zero(static_cast<std::uint64_t>(part / size)),
                   divide_up(bytes, part)};
}

std::optional<PartedCut> cut_of_bits(std::int64_t bits) {
  int shift = 5;
  while (divide_up(bits, std::int64_t{1} << shift) > kernels::most_parts) ++shift;
  if (shift > static_cast<int>(kernels::most_marks_log2)) return std::nullopt;
  return PartedCut{shift, divide_up(bits, std::int64_t{1} << shift)};
}

bool launch_parted(const Launcher& launcher) {
  constexpr std::int64_t many = std::int64_t{1} << 22;
  const KernelCall& call = launcher.call;
  const single_access access = call.program->singles;
  const std::optional<std::size_t> operand = accessed(launcher);
  if (!operand || call.kept < many) return false;
  const std::uint32_t size = call.program->itemsize[*operand];
  const Places places = places_of(call, *operand);
  const bool marks = access == single_access::mark, reads = access == single_access::read;
  const bool has_whole_steps = launcher.operands.own_strides(*operand) % size == 0;
  if (!marks && (!std::has_single_bit(size) || size > 16 || !has_whole_steps)) return false;
  const std::optional<PartedCut> cut =
      marks ? cut_of_bits(places.bytes - size + 1)
            : cut_of_elements(places.bytes, size, call.kept, launcher.cache());
  if (!cut) return false;

  const int tile = kernels::parted_tile(size, access);
  kernels::parted parts{};
  parts.first = places.first;
  parts.bytes = static_cast<kernels::u64>(places.bytes);
  parts.tiles = divide_up(call.kept, tile);
  parts.shift = static_cast<kernels::u32>(cut->shift);
  parts.count = static_cast<kernels::u32>(cut->parts);
  parts.resident =
      static_cast<kernels::u32>(launcher.cache() / 4 * 3 / (std::int64_t{size} << cut->shift));
  const auto elements = static_cast<std::size_t>(parts.tiles) * static_cast<std::size_t>(tile);
  const bool has_values = !marks && !(reads && size == sizeof *parts.places);  // else in place
  const std::size_t sizes[] = {
      elements * sizeof *parts.places, has_values ? elements * size : 0,
      reads ? elements * sizeof *parts.slots : 0,
      static_cast<std::size_t>(parts.tiles) * (parts.count + 1) * sizeof *parts.runs};
  std::byte* const memory = launcher.try_take(sizes[0] + sizes[1] + sizes[2] + sizes[3]);
  if (!memory) return false;
  parts.places = reinterpret_cast<kernels::u32*>(memory);
  parts.values = has_values ? memory + sizes[0] : memory;
  parts.slots = reinterpret_cast<kernels::u16*>(memory + sizes[0] + sizes[1]);
  parts.runs = reinterpret_cast<kernels::u32*>(memory + sizes[0] + sizes[1] + sizes[2]);

  const int each =
      tile / kernels::parted_threads;  // whole vectors; the last ones are there in part
  const VectorAccess vectors =
      reads ? map_vectors(launcher.operands, each) : piece_vectors(launcher.operands, each);
  const ParameterBlock block = parameter_block(call, true, call.word_of_check());
  const auto run = [&](kernels::parted_step step, std::int64_t blocks) {
    parts.step = step;
    launcher.run_early(PartedMap{vectors.width, vectors.wide},
                       {static_cast<unsigned>(blocks), 1, kernels::parted_threads, 1}, block,
                       parts);
  };
  constexpr std::int64_t tiles_a_block = kernels::parted_threads / 32 * kernels::parted_runs;
  if (call.check && !reads) call.check->require();
  run(kernels::parted_step::partition, parts.tiles);
  if (call.check && reads) call.check->require();  // the first step of reads looks at its word
  run(kernels::parted_step::access,
      parts.count * (marks ? 1 : divide_up(parts.tiles, tiles_a_block)));
  if (reads) run(kernels::parted_step::restore, parts.tiles);
  return true;
}

}  // namespace quarry::backend::cuda
