// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

#include "backend/backend.hpp"
#include "backend/cuda/jit/kernel.hpp"
#include "backend/cuda/jit/sharing.hpp"
#include "backend/cuda/jit/texts.hpp"
#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/parameter_block.hpp"
#include "backend/cuda/launch/running_writes.hpp"

/// From a KernelCall to launches: every family chooses its kernels, their variants and the grids.
namespace quarry::backend::cuda {

/// Blocks of a grid, and threads of a block.
struct Blocks {
  unsigned grid_x, grid_y, block_x, block_y;
};

/// A call with all that its family needs to launch it: operands, workspace, device and stream.
class Launcher {
 public:
  const KernelCall& call;
  const CallOperands operands;
  Workspace& workspace;

  struct Target {
    KernelTarget kernels;
    int multiprocessors;
    std::int64_t cache;           ///< bytes of its L2
    std::atomic<unsigned>& maps;  ///< launched on the device so far
    Stream stream;
    const Context& context;
    std::uint64_t use;       ///< of the context, by this call
    RunningWrites& running;  ///< of the thread
  };
  Launcher(const KernelCall& of, Workspace& memory, const Target& target)
      : call(of),
        operands(of),
        workspace(memory),
        target_(target),
        sharing_(sharing_of(of)),
        texts_(texts_of(of)) {}

  /// For another call, which does a part of this one.
  Launcher with(const KernelCall& part) const { return {part, workspace, target_}; }

  int multiprocessors() const { return target_.multiprocessors; }
  std::int64_t cache() const { return target_.cache; }

  /// The inputs that are read: of those that are the same one.
  int distinct_inputs() const;

  /// The loaded kernel, for a family whose grid depends on it.
  const Kernel& find(const Variant& variant) const;

  /// Launches a kernel; its parameters are the block, then `more`.
  template <class... More>
  void run(const Variant& variant, const Blocks& blocks, const ParameterBlock& block,
           const More&... more) const {
    const void* parameters[] = {block.data(), &more...};
    run_kernel(find(variant), blocks, parameters, Start::behind);
  }
  /// The same for kernels that wait themselves for what is ahead of them in the stream
  /// (kernels/stream_order.cuh): where the GPU can, their blocks start before that is done.
  template <class... More>
  void run_early(const Variant& variant, const Blocks& blocks, const ParameterBlock& block,
                 const More&... more) const {
    run_early(find(variant), blocks, block, more...);
  }
  template <class... More>
  void run_early(const Kernel& kernel, const Blocks& blocks, const ParameterBlock& block,
                 const More&... more) const {
    const void* parameters[] = {block.data(), &more...};
    run_kernel(kernel, blocks, parameters, Start::early);
  }
  /// The same for kernels that read nothing but the inputs of the call before they wait, and get
  /// their order as the last parameter: `order` and what the stream has them do.
  template <class... More>
  void run_ahead(const Kernel& kernel, const Blocks& blocks, const ParameterBlock& block, int order,
                 const More&... more) const {
    order |= order_in_stream();
    const void* parameters[] = {block.data(), &more..., &order};
    const bool waits = (order & kernels::order_waits_first) != 0;
    run_kernel(kernel, blocks, parameters, waits ? Start::anew : Start::early);
  }

  /// Memory of the workspace, which the kernels of the call write.
  std::byte* take(std::size_t bytes) const {
    auto* const memory = static_cast<std::byte*>(workspace.take(bytes));
    taken_ = {reinterpret_cast<std::uintptr_t>(memory),
              reinterpret_cast<std::uintptr_t>(memory) + bytes};
    return memory;
  }
  /// The same for what there is another way for: nullptr where memory has run out.
  std::byte* try_take(std::size_t bytes) const;

  /// Sets memory to 0, in the order of the stream.
  void clear(void* memory, std::size_t bytes) const;

  /// 1 for every second map on the device, which runs its blocks in reverse order: kernels/map.cuh.
  /// Those of a few elements, which are nothing to the L2 cache, leave the others as they are.
  int backwards() const {
    constexpr std::int64_t few = 32;
    if (call.kept <= few) return 0;
    return static_cast<int>(target_.maps.fetch_add(1, std::memory_order_relaxed) % 2);
  }

 private:
  /// When a kernel begins: behind the work ahead of it in the stream, or before that is done; the
  /// latter anew if kernels behind it begin when all that is done.
  enum class Start { behind, early, anew };
  void run_kernel(const Kernel& kernel, const Blocks& blocks, const void** parameters,
                  Start start) const;
  bool is_used_alone() const { return target_.context.uses() == target_.use; }
  int order_in_stream() const;
  bool are_writes_known() const;
  void note_writes(Start start) const;

  Target target_;
  mutable AddressRange taken_;
  const Sharing* sharing_;
  const Texts* texts_;
};

#define QUARRY_FAMILY(name) void launch_##name(const Launcher& launcher);
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY

}  // namespace quarry::backend::cuda
