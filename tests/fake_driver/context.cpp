// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

/// Primary contexts, and the stack of contexts of each thread.
namespace quarry::fake::entry {
namespace {

Context& context_of(CUdevice device) { return *state().contexts[static_cast<std::size_t>(device)]; }

/// What set_current and push_current begin with. With the state's lock held.
CUresult check_current(CUcontext context) {
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  const auto is_it = [&](const auto& known) {
    return known.get() == reinterpret_cast<Context*>(context) && known->is_active;
  };
  return std::ranges::any_of(state().contexts, is_it) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult push(CUcontext context) {
  ContextStack& stack = context_stack();
  if (stack.depth == ContextStack::most) return CUDA_ERROR_OUT_OF_MEMORY;
  stack.contexts[stack.depth++] = reinterpret_cast<Context*>(context);
  return CUDA_SUCCESS;
}

/// Destroys all on the device; its context's handle is valid again after the next retain.
void destroy(CUdevice device) {
  State& s = state();
  s.scheduler.drop(device);
  s.scheduler.clear_sticky(device);
  const Guard lock(s.mutex);
  const auto is_on = [&](const auto& entry) { return entry.second->device == device; };
  std::erase_if(s.streams, is_on);
  std::erase_if(s.events, is_on);
  std::erase_if(s.modules, is_on);
  std::erase_if(s.arrays, is_on);
  std::erase_if(s.graphs, is_on);
  std::erase_if(s.textures, [&](const auto& entry) { return entry.second.device == device; });
  std::erase_if(s.per_thread, is_on);
  s.pools.forget(device);
  s.imports.forget(device);
  s.memory.forget(device);
  Context& context = context_of(device);
  context.legacy = nullptr;
  context.is_active = false;
  context.limits.clear();
  context.cache_config = CU_FUNC_CACHE_PREFER_NONE;
}

constexpr bool has_one_wait(unsigned flags) {
  const unsigned wait = flags & CU_CTX_SCHED_MASK;
  return (wait & (wait - 1)) == 0;
}

}  // namespace

CUresult retain(CUcontext* context, CUdevice device) {
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if (state().machine.context != CUDA_SUCCESS) return state().machine.context;
  Context& found = context_of(device);
  static unsigned long long contexts_made = 0;
  if (!found.is_active) {
    found.legacy = state().scheduler.make(device, StreamKind::legacy);
    found.unique = ++contexts_made;
  }
  found.is_active = true;
  ++found.retained;
  *context = reinterpret_cast<CUcontext>(&found);
  return CUDA_SUCCESS;
}

CUresult release(CUdevice device) {
  if (const CUresult result = check_running()) return result;
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  {
    const Guard lock(state().mutex);
    if (const CUresult result = entered_device(device)) return result;
    Context& found = context_of(device);
    if (found.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--found.retained > 0 || !found.is_active) return CUDA_SUCCESS;
  }
  destroy(device);
  return CUDA_SUCCESS;
}

/// Those who have retained the context still have to release it.
CUresult reset(CUdevice device) {
  {
    const Guard lock(state().mutex);
    if (const CUresult result = entered_device(device)) return result;
  }
  destroy(device);
  return CUDA_SUCCESS;
}

CUresult primary_state(CUdevice device, unsigned* flags, int* is_active) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  *flags = context_of(device).flags;
  *is_active = context_of(device).is_active;
  return CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice device, unsigned flags) {
  constexpr unsigned known = CU_CTX_SCHED_MASK | CU_CTX_LMEM_RESIZE_TO_MAX | 0x20 | 0x40 | 0x80;
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if ((flags & ~known) != 0 || !has_one_wait(flags)) return CUDA_ERROR_INVALID_VALUE;
  context_of(device).flags = flags;
  return CUDA_SUCCESS;
}

CUresult get_id(CUcontext context, unsigned long long* id) {
  if (!is_live(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  const Guard lock(state().mutex);
  *id = reinterpret_cast<Context*>(context)->unique;
  return CUDA_SUCCESS;
}

CUresult get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current_context());
  return CUDA_SUCCESS;
}

/// Replaces the top of the thread's stack; nullptr removes it.
CUresult set_current(CUcontext context) {
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (const CUresult result = context ? check_current(context) : CUDA_SUCCESS) return result;
  if (context_stack().depth > 0) --context_stack().depth;
  return context ? push(context) : CUDA_SUCCESS;
}

CUresult push_current(CUcontext context) {
  if (const CUresult result = check_running()) return result;
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  const Guard lock(state().mutex);
  if (const CUresult result = check_current(context)) return result;
  return push(context);
}

CUresult pop_current(CUcontext* context) {
  if (const CUresult result = check_running()) return result;
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = reinterpret_cast<CUcontext>(current_context());
  --context_stack().depth;
  return CUDA_SUCCESS;
}

CUresult api_version(CUcontext context, unsigned* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  if (!is_live(context ? context : reinterpret_cast<CUcontext>(current_context()))) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *version = 3020;
  return CUDA_SUCCESS;
}

namespace {

/// Of a new context of an H200.
std::size_t default_limit(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return std::size_t{1} << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return std::size_t{8} << 20;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return 64;
    default:
      return 0;
  }
}

CUresult find_limit(CUlimit limit) {
  if (limit < CU_LIMIT_STACK_SIZE || limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  return limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_SUCCESS;
}

/// Rounded or clamped as the driver does.
std::size_t granted(CUlimit limit, std::size_t value) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return (value + 15) / 16 * 16;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return std::min<std::size_t>(value, 128);
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return 0;  // the attribute MAX_PERSISTING_L2_CACHE_SIZE
    default:
      return value;
  }
}

}  // namespace

CUresult set_limit(CUlimit limit, std::size_t value) {
  if (const CUresult result = enter()) return result;
  if (const CUresult result = find_limit(limit)) return result;
  if (limit == CU_LIMIT_STACK_SIZE && value > (std::size_t{512} << 10))
    return CUDA_ERROR_INVALID_VALUE;
  const Guard lock(state().mutex);
  const auto device = static_cast<std::size_t>(current_device());
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && value > state().machine.devices[device].memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  current_context()->limits[limit] = granted(limit, value);
  return CUDA_SUCCESS;
}

CUresult get_limit(std::size_t* value, CUlimit limit) {
  if (const CUresult result = enter()) return result;
  if (const CUresult result = find_limit(limit)) return result;
  const Guard lock(state().mutex);
  const auto& limits = current_context()->limits;
  const auto found = limits.find(limit);
  *value = found == limits.end() ? default_limit(limit) : found->second;
  return CUDA_SUCCESS;
}

CUresult set_context_cache_config(CUfunc_cache config) {
  if (const CUresult result = enter()) return result;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return CUDA_ERROR_INVALID_VALUE;
  const Guard lock(state().mutex);
  current_context()->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult get_context_cache_config(CUfunc_cache* config) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  *config = current_context()->cache_config;
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
