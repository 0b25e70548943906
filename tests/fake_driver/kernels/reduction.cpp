// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/reduction.hpp"

#include <algorithm>
#include <vector>

#include "backend/cpu/runs.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {

using kernels::block_places;

const kernels::reduce_loops& loops_of(const Launch& launch) {
  return *static_cast<const kernels::reduce_loops*>(launch.program->loops);
}

Accumulator new_accumulator(const Launch& launch) {
  Accumulator accumulator(
      ::operator new (loops_of(launch).fold->accumulator_size, std::align_val_t{64}));
  loops_of(launch).fold->begin(accumulator.get(), 1);
  return accumulator;
}

namespace {

/// Whether the reduced axes are in another order than that of positions.
bool has_positions(const Launch& launch, const Operands& operands) {
  const int first = launch.argument(0);
  return launch.rank() - first > 1 && operands.stride(0, first) != 0;
}

/// As fold() below where every element has a position of its own, the offset of the output.
bool fold_scattered(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
                    void* accumulator, std::int64_t begin, std::int64_t end) {
  const int first = launch.argument(0), last = launch.rank();
  const std::vector<std::int64_t> strides(static_cast<std::size_t>(operands.count()), 0);
  std::vector<char*> addresses;
  for (std::int64_t i = begin; i < end; ++i) {
    Operands::Offsets offsets = base;
    offsets[0] = 0;
    operands.advance(offsets, i, first, last);
    const std::int64_t position = offsets[0];
    offsets[0] = base[0];
    if (!operands.resolve(offsets, addresses)) return false;
    const Accumulator one = new_accumulator(launch);
    backend::cpu_backend::fold_rows(loops_of(launch), one.get(), 1, 1, addresses.data() + 1,
                                    strides.data() + 1, strides.data() + 1, launch.scalars(),
                                    position);
    loops_of(launch).fold->merge(accumulator, one.get(), 1);
  }
  return true;
}

}  // namespace

bool fold(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
          void* accumulator, std::int64_t begin, std::int64_t end) {
  if (has_positions(launch, operands)) {
    return fold_scattered(launch, operands, base, accumulator, begin, end);
  }
  const int first = launch.argument(0), last = launch.rank();
  const std::int64_t columns = last > first ? operands.extent(last - 1) : 1;
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) {
    strides.push_back(last > first ? operands.stride(k, last - 1) : 0);
  }
  std::vector<char*> addresses;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t n = operands.run(std::min(columns - i % columns, end - i));
    Operands::Offsets offsets = base;
    operands.advance(offsets, i, first, last);
    if (!operands.resolve(offsets, addresses)) return false;
    backend::cpu_backend::fold_rows(loops_of(launch), accumulator, 1, n, addresses.data() + 1,
                                    strides.data() + 1, strides.data() + 1, launch.scalars(), i);
    i += n;
  }
  return true;
}

bool store(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
           const void* accumulator, std::int64_t place, std::byte* partial) {
  if (partial) {
    const std::size_t size = loops_of(launch).fold->accumulator_size;
    std::copy_n(static_cast<const std::byte*>(accumulator), size,
                partial + static_cast<std::size_t>(place) * size);
    return true;
  }
  std::vector<char*> addresses;
  if (!operands.resolve(base, addresses)) return false;
  loops_of(launch).finish(addresses[0], 0, accumulator, 1, launch.word(block_places::reduced),
                          launch.scalars());
  return true;
}

std::byte* partial_results(const Launch& launch, std::uint64_t to, std::int64_t count) {
  return state().memory.find(
      to, static_cast<std::size_t>(count) * loops_of(launch).fold->accumulator_size, launch.device);
}

}  // namespace quarry::fake
