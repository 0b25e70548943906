// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"

/// Memory and events that other processes share.
namespace quarry::backend::cuda {
namespace {

/// For a handle of another process: mapping fails for bytes that are no handle, or if the memory or
/// event no longer exists.
void check_opened(CUresult result) {
  require<LogicError>(result != CUDA_ERROR_MAP_FAILED, [&] { return error_text(result); });
  check(result);
}

}  // namespace

IpcBytes CudaDevice::export_memory(void* memory) {
  const auto current = context_.bind();
  CUipcMemHandle handle{};
  check(driver().IpcGetMemHandle(&handle, address(memory)));
  return std::bit_cast<IpcBytes>(handle);
}

void* CudaDevice::do_import_memory(const IpcBytes& handle) {
  const auto current = context_.bind();
  CUdeviceptr memory = 0;
  check_opened(driver().IpcOpenMemHandle(&memory, std::bit_cast<CUipcMemHandle>(handle),
                                         CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return pointer(memory);
}

void CudaDevice::do_close_imported(void* memory) {
  const auto current = context_.bind();
  check(driver().IpcCloseMemHandle(address(memory)));
}

IpcBytes CudaDevice::export_event(Event event) {
  const auto current = context_.bind();
  CUipcEventHandle handle{};
  check(driver().IpcGetEventHandle(&handle, native_event(event)));
  return std::bit_cast<IpcBytes>(handle);
}

Event CudaDevice::do_import_event(const IpcBytes& handle) {
  const auto current = context_.bind();
  CUevent event = nullptr;
  check_opened(driver().IpcOpenEventHandle(&event, std::bit_cast<CUipcEventHandle>(handle)));
  return event;
}

}  // namespace quarry::backend::cuda
