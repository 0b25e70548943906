// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

#include "backend/backend.hpp"
#include "backend/cuda/jit/kernel.hpp"
#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/parameter_block.hpp"

/// From a call to launches: every family decides which of its kernels run, in which variant, and
/// with how many blocks.
namespace quarry::backend::cuda {

/// Blocks of a grid, and threads of a block.
struct Blocks {
  unsigned grid_x, grid_y, block_x, block_y;
};

/// A call on its way into a stream.
class Launcher {
 public:
  const KernelCall& call;
  const CallOperands operands;
  Workspace& workspace;

  struct Target {
    KernelTarget kernels;
    int multiprocessors;
    std::atomic<unsigned>& maps;  ///< launched so far
    Stream stream;
  };
  Launcher(const KernelCall& of, Workspace& memory, const Target& target)
      : call(of), operands(of), workspace(memory), target_(target) {}

  int multiprocessors() const { return target_.multiprocessors; }

  /// The kernel with the block as its first parameter and `more` behind it.
  template <class... More>
  void run(const Variant& variant, const Blocks& blocks, const ParameterBlock& block,
           const More&... more) const {
    const void* parameters[] = {block.data(), &more...};
    run_kernel(variant, blocks, parameters);
  }

  /// 1 for every second map on the device: see kernels/map.cuh.
  int backwards() const {
    return static_cast<int>(target_.maps.fetch_add(1, std::memory_order_relaxed) % 2);
  }

 private:
  void run_kernel(const Variant& variant, const Blocks& blocks, const void** parameters) const;

  Target target_;
};

#define QUARRY_FAMILY(name) void launch_##name(const Launcher& launcher);
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY

}  // namespace quarry::backend::cuda
