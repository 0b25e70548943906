// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"

/// Peer access and copies between two GPUs.
namespace quarry::backend::cuda {

CudaDevice& CudaDevice::of(const Device& device) {
  const auto* cuda = dynamic_cast<const CudaDevice*>(&device);
  require<LogicError>(cuda, "the CPU is no peer of a GPU: peers are two GPUs");
  return const_cast<CudaDevice&>(*cuda);  // devices are never destroyed, and none is const
}

bool CudaDevice::can_access_peer(const Device& other) const {
  const auto* peer = dynamic_cast<const CudaDevice*>(&other);
  if (!peer || peer == this) return peer == this;
  int can = 0;
  check(driver().DeviceCanAccessPeer(&can, device_, peer->device_));
  return can != 0;
}

void CudaDevice::enable_peer_access(Device& other) {
  CudaDevice& peer = of(other);
  if (&peer == this) return;
  const CUcontext context = peer.context_.handle();
  const auto current = context_.bind();
  const CUresult result = driver().CtxEnablePeerAccess(context, 0);
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
  require<LogicError>(result != CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, [&] {
    return fmt::format("device {} cannot use memory of device {}", info_.id, peer.info_.id);
  });
  check(result);
}

void CudaDevice::disable_peer_access(Device& other) {
  CudaDevice& peer = of(other);
  if (&peer == this) return;
  const CUcontext context = peer.context_.handle();
  const auto current = context_.bind();
  const CUresult result = driver().CtxDisablePeerAccess(context);
  if (result != CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) check(result);
}

void CudaDevice::copy_from_peer(void* to, const void* from, const Device& peer, std::size_t bytes,
                                Stream stream, bool blocking) {
  if (bytes == 0) return;
  const CUcontext source = of(peer).context_.handle(), target = context_.handle();
  const auto current = context_.bind();
  if (blocking && is_legacy(native(stream))) {
    check(driver().MemcpyPeer(address(to), target, address(from), source, bytes));
  } else {
    check(driver().MemcpyPeerAsync(address(to), target, address(from), source, bytes,
                                   native(stream)));
  }
  if (blocking) check(driver().StreamSynchronize(native(stream)));
}

}  // namespace quarry::backend::cuda
