// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/ipc.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

struct Name {
  char kind[8];
  SharedBlock block;
};
constexpr char kind[8] = {'f', 'a', 'k', 'e', '-', 'm', 'e', 'm'};

}  // namespace

CUresult Imports::open(const SharedBlock& block, CUdeviceptr* out) {
  const Guard lock(mutex_);
  Import& import = imports_[{block.process, block.file, block.offset, block.serial}];
  if (import.count == 0) import = {state().memory.import(block), block.device, 0};
  if (import.address == 0) return CUDA_ERROR_INVALID_VALUE;
  ++import.count;
  *out = import.address;
  return CUDA_SUCCESS;
}

CUresult Imports::close(CUdeviceptr address) {
  const Guard lock(mutex_);
  const auto found = std::find_if(imports_.begin(), imports_.end(), [&](const auto& entry) {
    return entry.second.count > 0 && entry.second.address == address;
  });
  if (found == imports_.end()) {
    add_fault("cuIpcCloseMemHandle of memory that is not open");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (--found->second.count > 0) return CUDA_SUCCESS;
  state().memory.close_import(address);
  imports_.erase(found);
  return CUDA_SUCCESS;
}

void Imports::forget(int device) {
  const Guard lock(mutex_);
  std::erase_if(imports_, [&](const auto& entry) { return entry.second.device == device; });
}

namespace entry {

CUresult ipc_export_memory(CUipcMemHandle* handle, CUdeviceptr address) {
  if (const CUresult result = enter()) return result;
  const auto block = state().memory.share(address);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  Name name{{}, *block};
  std::memcpy(name.kind, kind, sizeof kind);
  *handle = {};
  std::memcpy(handle->reserved, &name, sizeof name);
  return CUDA_SUCCESS;
}

CUresult ipc_open_memory(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  if (const CUresult result = enter()) return result;
  Name name;
  std::memcpy(&name, handle.reserved, sizeof name);
  const bool is_known = std::memcmp(name.kind, kind, sizeof kind) == 0;
  if (!is_known || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  if (name.block.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = name.block.device;
  if (device < 0 || device >= state().memory.devices()) return CUDA_ERROR_INVALID_DEVICE;
  if (device != current_device()) {
    if (!can_reach(current_device(), device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    state().memory.set_peer(current_device(), device, true);
  }
  return state().imports.open(name.block, out);
}

CUresult ipc_close_memory(CUdeviceptr address) {
  if (const CUresult result = enter()) return result;
  if (behaviour().free_waits) state().scheduler.finish_all();
  return state().imports.close(address);
}

}  // namespace entry
}  // namespace quarry::fake
