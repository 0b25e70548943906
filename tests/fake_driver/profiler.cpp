// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

/// Whether a profiler would record: of each context, and once for any number of calls.
namespace quarry::fake {
namespace entry {

CUresult profiler_start() {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  bool& is_recorded = current_context()->is_recorded;
  state().statistics.recordings += is_recorded ? 0 : 1;
  is_recorded = true;
  return CUDA_SUCCESS;
}

CUresult profiler_stop() {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  current_context()->is_recorded = false;
  return CUDA_SUCCESS;
}

}  // namespace entry

bool is_recording(int device) {
  const Guard lock(state().mutex);
  return state().contexts.at(static_cast<std::size_t>(device))->is_recorded;
}

}  // namespace quarry::fake
