// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "fake_driver/kernels/kernel.hpp"

/// What the kernels of reductions have in common.
namespace quarry::fake {

const kernels::reduce_loops& loops_of(const Launch& launch);

struct AlignedFree {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
using Accumulator = std::unique_ptr<void, AlignedFree>;
Accumulator new_accumulator(const Launch& launch);

/// Folds the reduced elements [begin, end) of one output into `accumulator`; false if an offset has
/// wrapped.
bool fold(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
          void* accumulator, std::int64_t begin, std::int64_t end);
/// Writes the accumulator to `partial`, of which it is number `place`, or if there is none what it
/// gives to the output at `base`.
bool store(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
           const void* accumulator, std::int64_t place, std::byte* partial);

/// `count` partial accumulators, whose address is `to`; null if they are not in live memory.
std::byte* partial_results(const Launch& launch, std::uint64_t to, std::int64_t count);

CUresult run_staged_reduction(const Launch& launch);
CUresult run_slab_reduction(const Launch& launch);

}  // namespace quarry::fake
