// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"

/// The driver's structured copies, field by field.
namespace quarry::backend::cuda {
namespace {

CUmemorytype memory_type(SideKind kind) {
  switch (kind) {
    case SideKind::host:
      return CU_MEMORYTYPE_HOST;
    case SideKind::device:
      return CU_MEMORYTYPE_DEVICE;
    case SideKind::unified:
      return CU_MEMORYTYPE_UNIFIED;
    case SideKind::array:
      return CU_MEMORYTYPE_ARRAY;
  }
  throw LogicError("no such kind of memory in a block copy");
}

CUarray array(const BlockSide& side) { return static_cast<CUarray>(side.address); }

void set_source(auto& c, const BlockSide& from) {
  c.srcMemoryType = memory_type(from.kind);
  if (from.kind == SideKind::host) {
    c.srcHost = from.address;
  } else if (from.kind == SideKind::array) {
    c.srcArray = array(from);
  } else {
    c.srcDevice = address(from.address);
  }
}

void set_target(auto& c, const BlockSide& to) {
  c.dstMemoryType = memory_type(to.kind);
  if (to.kind == SideKind::host) {
    c.dstHost = to.address;
  } else if (to.kind == SideKind::array) {
    c.dstArray = array(to);
  } else {
    c.dstDevice = address(to.address);
  }
}

/// The fields that the driver's 2-D and 3-D structures share.
void set_plane(auto& c, const BlockCopy& copy) {
  set_source(c, copy.from);
  set_target(c, copy.to);
  c.srcXInBytes = copy.from.x_in_bytes;
  c.srcY = copy.from.y;
  c.srcPitch = copy.from.pitch;
  c.dstXInBytes = copy.to.x_in_bytes;
  c.dstY = copy.to.y;
  c.dstPitch = copy.to.pitch;
  c.WidthInBytes = copy.width_in_bytes;
  c.Height = copy.height;
}

void set_space(auto& c, const BlockCopy& copy) {
  set_plane(c, copy);
  c.srcZ = copy.from.z;
  c.srcLOD = copy.from.lod;
  c.srcHeight = copy.from.height;
  c.dstZ = copy.to.z;
  c.dstLOD = copy.to.lod;
  c.dstHeight = copy.to.height;
  c.Depth = copy.depth;
}

/// Arrays may have planes, which the 2-D structure cannot describe.
bool is_plane(const BlockCopy& c) {
  const bool has_array = c.to.kind == SideKind::array || c.from.kind == SideKind::array;
  if (has_array && !c.unaligned) return false;
  return c.depth == 1 && c.to.z == 0 && c.from.z == 0 && c.to.lod == 0 && c.from.lod == 0;
}

void copy_plane(const BlockCopy& copy, CUstream stream, bool at_once) {
  CUDA_MEMCPY2D c{};
  set_plane(c, copy);
  if (copy.unaligned) return check(driver().Memcpy2DUnaligned(&c));
  check(at_once ? driver().Memcpy2D(&c) : driver().Memcpy2DAsync(&c, stream));
}

void copy_space(const BlockCopy& copy, CUstream stream, bool at_once) {
  CUDA_MEMCPY3D c{};
  set_space(c, copy);
  check(at_once ? driver().Memcpy3D(&c) : driver().Memcpy3DAsync(&c, stream));
}

}  // namespace

void CudaDevice::copy_between_devices(const BlockCopy& copy, CudaDevice& to, CudaDevice& from,
                                      void* stream, bool at_once) {
  CUDA_MEMCPY3D_PEER c{};
  set_space(c, copy);
  c.srcContext = from.context_.handle();
  c.dstContext = to.context_.handle();
  check(at_once ? driver().Memcpy3DPeer(&c) : driver().Memcpy3DPeerAsync(&c, native(stream)));
}

void CudaDevice::copy_block(const BlockCopy& copy, Stream stream, bool blocking) {
  if (copy.width_in_bytes == 0 || copy.height == 0 || copy.depth == 0) return;
  CudaDevice& to = copy.to.device ? of(*copy.to.device) : *this;
  CudaDevice& from = copy.from.device ? of(*copy.from.device) : *this;
  const bool crosses = &to != this || &from != this;
  require<LogicError>(!copy.unaligned || (is_plane(copy) && !crosses),
                      "only a 2-D copy on one device may be unaligned");
  const auto current = context_.bind();
  // synchronous copies run in the legacy stream
  if (copy.unaligned && !is_legacy(native(stream)))
    check(driver().StreamSynchronize(native(stream)));
  const bool at_once = copy.unaligned || (blocking && is_legacy(native(stream)));
  if (crosses) {
    copy_between_devices(copy, to, from, stream, at_once);
  } else if (is_plane(copy)) {
    copy_plane(copy, native(stream), at_once);
  } else {
    copy_space(copy, native(stream), at_once);
  }
  // of synchronous copies only those to host memory are guaranteed to be done
  const bool has_waited = at_once && copy.to.kind == SideKind::host;
  if ((blocking || copy.unaligned) && !has_waited) {
    check(driver().StreamSynchronize(at_once ? nullptr : native(stream)));
  }
}

}  // namespace quarry::backend::cuda
