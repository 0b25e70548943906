// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry {

/// What a context keeps for its kernels, with the numbers of CUlimit; sizes in bytes.
enum class ContextLimit {
  stack_size = 0,                        ///< of each thread
  printf_fifo_size = 1,                  ///< what kernels print until the host reads it
  malloc_heap_size = 2,                  ///< from which kernels allocate
  dev_runtime_sync_depth = 3,            ///< nesting of launches by kernels; none since 9.0
  dev_runtime_pending_launch_count = 4,  ///< launches by kernels that have not begun
  max_l2_fetch_granularity = 5,          ///< a hint: 0 to 128
  persisting_l2_cache_size = 6           ///< a hint
};

}  // namespace quarry
