// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "backend/cuda/check.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/native.hpp"

/// Memory and events that other processes share.
namespace quarry::backend::cuda {

IpcHandle CudaDevice::export_memory(void* memory) {
  const auto current = context_.bind();
  CUipcMemHandle handle{};
  check(driver().IpcGetMemHandle(&handle, address(memory)));
  return std::bit_cast<IpcHandle>(handle);
}

void* CudaDevice::do_import_memory(const IpcHandle& handle) {
  const auto current = context_.bind();
  CUdeviceptr memory = 0;
  check(driver().IpcOpenMemHandle(&memory, std::bit_cast<CUipcMemHandle>(handle),
                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return pointer(memory);
}

void CudaDevice::do_close_imported(void* memory) {
  const auto current = context_.bind();
  check(driver().IpcCloseMemHandle(address(memory)));
}

IpcHandle CudaDevice::export_event(Event event) {
  const auto current = context_.bind();
  CUipcEventHandle handle{};
  check(driver().IpcGetEventHandle(&handle, native_event(event)));
  return std::bit_cast<IpcHandle>(handle);
}

Event CudaDevice::do_import_event(const IpcHandle& handle) {
  const auto current = context_.bind();
  CUevent event = nullptr;
  check(driver().IpcOpenEventHandle(&event, std::bit_cast<CUipcEventHandle>(handle)));
  return event;
}

}  // namespace quarry::backend::cuda
