// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/contexts.hpp"

#include <fmt/format.h>

#include <array>

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend::cuda {
namespace {

// The public enumerators have the driver's numbers.
#define QUARRY_ATTRIBUTE(name, enumerator) \
  static_assert(static_cast<int>(DeviceAttribute::enumerator) == CU_DEVICE_ATTRIBUTE_##name);
#include "base/device_attribute.def"
#undef QUARRY_ATTRIBUTE
static_assert(static_cast<int>(ContextFlags::sched_spin) == CU_CTX_SCHED_SPIN);
static_assert(static_cast<int>(ContextFlags::sched_yield) == CU_CTX_SCHED_YIELD);
static_assert(static_cast<int>(ContextFlags::sched_blocking_sync) == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(static_cast<int>(ContextFlags::sched_mask) == CU_CTX_SCHED_MASK);
static_assert(static_cast<int>(ContextFlags::map_host) == CU_CTX_MAP_HOST);
static_assert(static_cast<int>(ContextFlags::lmem_resize_to_max) == CU_CTX_LMEM_RESIZE_TO_MAX);
static_assert(static_cast<int>(ContextLimit::malloc_heap_size) == CU_LIMIT_MALLOC_HEAP_SIZE);
static_assert(static_cast<int>(ContextLimit::persisting_l2_cache_size) ==
              CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
static_assert(static_cast<int>(CacheConfig::prefer_shared) == CU_FUNC_CACHE_PREFER_SHARED);
static_assert(static_cast<int>(CacheConfig::prefer_l1) == CU_FUNC_CACHE_PREFER_L1);
static_assert(static_cast<int>(CacheConfig::prefer_equal) == CU_FUNC_CACHE_PREFER_EQUAL);
static_assert(static_cast<int>(ComputeMode::exclusive_process) == CU_COMPUTEMODE_EXCLUSIVE_PROCESS);

// The driver's enumerations hold so many values.
constexpr int attribute_values = 256, limit_values = 16;

CUlimit native(ContextLimit limit) {
  const int number = static_cast<int>(limit);
  require<LogicError>(number >= 0 && number < limit_values, [&] {
    return fmt::format("there is no limit of a context with the number {}", number);
  });
  return static_cast<CUlimit>(number);
}

/// LogicError, with what was asked for, where the driver refuses a limit.
void check_limit(CUresult result, ContextLimit limit, const char* what, int device) {
  require<LogicError>(result != CUDA_ERROR_UNSUPPORTED_LIMIT, [&] {
    return fmt::format("device {} has no limit with the number {} of CUlimit", device,
                       static_cast<int>(limit));
  });
  require<LogicError>(result != CUDA_ERROR_INVALID_VALUE, [&] {
    return fmt::format(
        "the driver refuses {} for the limit with the number {} of CUlimit; some can be set only "
        "before kernels use them",
        what, static_cast<int>(limit));
  });
  check(result);
}

}  // namespace

std::optional<std::int64_t> CudaContexts::attribute(DeviceAttribute attribute) {
  const int number = static_cast<int>(attribute);
  if (number <= 0 || number >= attribute_values) return std::nullopt;
  int value = 0;
  const CUresult result =
      driver().DeviceGetAttribute(&value, static_cast<CUdevice_attribute>(number), device_);
  if (result == CUDA_ERROR_INVALID_VALUE) return std::nullopt;  // of a newer driver
  check(result);
  return value;
}

std::size_t CudaContexts::total_memory() {
  std::size_t bytes = 0;
  check(driver().DeviceTotalMem(&bytes, device_));
  return bytes;
}

std::string CudaContexts::pci_bus_id() {
  std::array<char, 32> text{};
  check(driver().DeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, device_));
  return text.data();
}

ContextFlags CudaContexts::flags() {
  unsigned flags = 0;
  int is_active = 0;
  check(driver().DevicePrimaryCtxGetState(device_, &flags, &is_active));
  return static_cast<ContextFlags>(flags);
}

void CudaContexts::set_flags(ContextFlags flags) {
  const auto bits = static_cast<unsigned>(flags);
  const unsigned wait = bits & CU_CTX_SCHED_MASK;
  const bool is_known = (bits & ~static_cast<unsigned>(ContextFlags::flags_mask)) == 0;
  require<LogicError>(is_known && (wait & (wait - 1)) == 0, [&] {
    return fmt::format(
        "{:#x} are no flags of a context: at most one of sched_spin, sched_yield "
        "and sched_blocking_sync, and bits of flags_mask",
        bits);
  });
  // always on, and refused by the driver for the primary context
  check(driver().DevicePrimaryCtxSetFlags(
      device_, bits & ~unsigned{CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX}));
}

void* CudaContexts::handle() { return context_.handle(); }

void* CudaContexts::push() {
  const CUcontext context = context_.handle();
  set_checked_device(context_.id());
  check(driver().CtxPushCurrent(context));
  return context;
}

void CudaContexts::pop(void* context) {
  if (is_lost(context_.id())) return;
  require<LogicError>(current() == context, [&] {
    return fmt::format(
        "the context of cuda:{} cannot be popped: other code has made another CUDA context current "
        "on this thread, or none",
        context_.id());
  });
  CUcontext popped = nullptr;
  check(driver().CtxPopCurrent(&popped));
}

void* CudaContexts::current() {
  CUcontext current = nullptr;
  check(driver().CtxGetCurrent(&current));
  return current;
}

void CudaContexts::release() {
  if (const auto current = context_.try_bind()) pool_.destroy();
  context_.release();
}

void CudaContexts::set_limit(ContextLimit limit, std::size_t value) {
  const auto current = context_.bind();
  check_limit(driver().CtxSetLimit(native(limit), value), limit, std::to_string(value).c_str(),
              context_.id());
}

std::size_t CudaContexts::limit(ContextLimit limit) {
  const auto current = context_.bind();
  std::size_t value = 0;
  check_limit(driver().CtxGetLimit(&value, native(limit)), limit, "to tell", context_.id());
  return value;
}

void CudaContexts::set_cache_config(CacheConfig config) {
  const int number = static_cast<int>(config);
  require<LogicError>(number >= 0 && number <= CU_FUNC_CACHE_PREFER_EQUAL, [&] {
    return fmt::format("there is no cache configuration with the number {}", number);
  });
  const auto current = context_.bind();
  check(driver().CtxSetCacheConfig(static_cast<CUfunc_cache>(number)));
}

CacheConfig CudaContexts::cache_config() {
  const auto current = context_.bind();
  CUfunc_cache config = CU_FUNC_CACHE_PREFER_NONE;
  check(driver().CtxGetCacheConfig(&config));
  return static_cast<CacheConfig>(config);
}

int CudaContexts::api_version() {
  unsigned version = 0;
  check(driver().CtxGetApiVersion(context_.handle(), &version));
  return static_cast<int>(version);
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

Device* cuda_device_at(const std::string& pci_bus_id) {
  const auto& all = cuda_devices();
  if (all.empty()) return nullptr;
  CUdevice wanted = 0;
  const CUresult result = cuda::driver().DeviceGetByPCIBusId(&wanted, pci_bus_id.c_str());
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_DEVICE) return nullptr;
  cuda::check(result);
  for (const auto& device : all) {
    CUdevice handle = 0;
    cuda::check(cuda::driver().DeviceGet(&handle, device->info().id));
    if (handle == wanted) return device.get();
  }
  return nullptr;
}

int cuda_built_against() { return CUDA_VERSION; }

}  // namespace quarry::backend
