// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry {

/// How a context behaves, with the bits of CU_CTX_*. The first four say what a thread of the host
/// does while it waits for the GPU.
enum class ContextFlags : unsigned {
  sched_auto = 0,             ///< yields if there are more contexts than processors, else spins
  sched_spin = 1,             ///< polls: the shortest wait, at the cost of a processor
  sched_yield = 2,            ///< polls, and lets other threads run meanwhile
  sched_blocking_sync = 4,    ///< sleeps until the GPU is done
  blocking_sync = 4,          ///< the older name
  sched_mask = 7,             ///< the bits of the waits, of which one may be set
  map_host = 8,               ///< page-locked memory can be mapped: always so today
  lmem_resize_to_max = 16,    ///< local memory of kernels is kept: always so today
  coredump_enable = 32,       ///< a failing kernel leaves a core dump of the GPU
  user_coredump_enable = 64,  ///< core dumps that the user asks for by a pipe
  sync_memops = 128,          ///< synchronous copies and fills have ended on return, always
  flags_mask = 255            ///< all bits
};
///@{
/// Of the bits.
constexpr ContextFlags operator|(ContextFlags a, ContextFlags b) {
  return static_cast<ContextFlags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr ContextFlags operator&(ContextFlags a, ContextFlags b) {
  return static_cast<ContextFlags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr ContextFlags operator~(ContextFlags a) {
  return ContextFlags::flags_mask & static_cast<ContextFlags>(~static_cast<unsigned>(a));
}
///@}

}  // namespace quarry
