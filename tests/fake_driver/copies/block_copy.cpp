// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "fake_driver/copies/copy.hpp"
#include "fake_driver/entry.hpp"
#include "fake_driver/memory/array.hpp"
#include "fake_driver/state.hpp"

/// The structured copies, and those between devices.
namespace quarry::fake::entry {
namespace {

constexpr std::size_t longest_pitch = 2147483647;

/// One side as the driver's structures name it.
struct Corner {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x = 0, y = 0, z = 0, pitch = 0, height = 0;
  CUcontext context = nullptr;
};

struct Extent {
  std::size_t width, rows, slices;
};

bool is_known(CUmemorytype type) {
  return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
         type == CU_MEMORYTYPE_UNIFIED || type == CU_MEMORYTYPE_ARRAY;
}

bool is_within(std::size_t first, std::size_t count, std::size_t extent) {
  return first <= extent && count <= extent - first;
}

/// The box is one of whole elements within the array; only copies between devices, which have
/// contexts, may have an array of another one.
CUresult check_array(const Corner& c, const Extent& e, const Array& array) {
  const std::size_t size = array.element_bytes();
  const bool is_here = c.context || array.device == current_device();
  const bool fits =
      c.x % size == 0 && e.width % size == 0 && is_within(c.x, e.width, array.row_bytes()) &&
      is_within(c.y, e.rows, array.rows()) && is_within(c.z, e.slices, array.planes());
  return is_here && fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Puts the memory of the arrays in their place.
CUresult open_arrays(Corner& to, Corner& from, const Extent& e) {
  std::size_t sizes[2] = {0, 0};
  for (Corner* c : {&to, &from}) {
    if (c->type != CU_MEMORYTYPE_ARRAY) continue;
    if (!c->array) return CUDA_ERROR_INVALID_VALUE;
    const auto array = find_array(c->array);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = check_array(*c, e, *array)) return result;
    sizes[c == &to] = array->element_bytes();
    c->type = CU_MEMORYTYPE_DEVICE;
    c->device = array->memory;
    c->pitch = array->pitch();
    c->height = array->rows();
    c->context = nullptr;
  }
  const bool differ = sizes[0] != 0 && sizes[1] != 0 && sizes[0] != sizes[1];
  return differ ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// A pitch or height of 0 says that rows or slices lie without gaps.
bool is_valid(const Corner& c, const Extent& e) {
  return is_known(c.type) && c.pitch <= longest_pitch &&
         (c.pitch == 0 || c.pitch >= e.width + c.x) && (c.height == 0 || c.height >= e.rows + c.y);
}

Corner without_gaps(Corner c, const Extent& e) {
  if (c.pitch == 0) c.pitch = e.width + c.x;
  if (c.height == 0) c.height = e.rows + c.y;
  return c;
}

Side side_of(const Corner& c) {
  const bool is_host = c.type == CU_MEMORYTYPE_HOST;
  Side side = is_host ? host_side(c.host) : device_side(c.device);
  if (c.type == CU_MEMORYTYPE_UNIFIED) {
    const auto found = state().memory.look(c.device);
    side.is_device = found && found->block.device >= 0;
  }
  side.at += c.z * c.height * c.pitch + c.y * c.pitch + c.x;
  side.pitch = c.pitch;
  side.slice = c.height * c.pitch;
  return side;
}

CUresult copy_corners(Corner to, Corner from, const Extent& e, CUstream stream, bool waits) {
  if (const CUresult result = enter()) return result;
  if (const CUresult result = open_arrays(to, from, e)) return result;
  if (!is_valid(to, e) || !is_valid(from, e)) return CUDA_ERROR_INVALID_VALUE;
  Box box{side_of(without_gaps(to, e)), side_of(without_gaps(from, e)), e.width, e.rows, e.slices};
  for (const auto& [side, corner] : {std::pair{&box.to, &to}, {&box.from, &from}}) {
    if (corner->context && side->is_device) {
      side->device = reinterpret_cast<Context*>(corner->context)->device;
    }
  }
  return copy(box, stream, waits && !(box.to.is_device && box.from.is_device));
}

template <class C>
Corner source(const C& c) {
  return {.type = c.srcMemoryType,
          .host = c.srcHost,
          .device = c.srcDevice,
          .array = c.srcArray,
          .x = c.srcXInBytes,
          .y = c.srcY,
          .pitch = c.srcPitch};
}
template <class C>
Corner target(const C& c) {
  return {.type = c.dstMemoryType,
          .host = c.dstHost,
          .device = c.dstDevice,
          .array = c.dstArray,
          .x = c.dstXInBytes,
          .y = c.dstY,
          .pitch = c.dstPitch};
}

CUresult copy_2d(const CUDA_MEMCPY2D& c, CUstream stream, bool waits) {
  return copy_corners(target(c), source(c), {c.WidthInBytes, c.Height, 1}, stream, waits);
}

template <class C>
CUresult copy_3d(const C& c, CUstream stream, bool waits) {
  Corner to = target(c), from = source(c);
  to.z = c.dstZ, to.height = c.dstHeight;
  from.z = c.srcZ, from.height = c.srcHeight;
  if constexpr (requires { c.srcContext; }) {
    if (!is_live(c.dstContext) || !is_live(c.srcContext)) return CUDA_ERROR_INVALID_CONTEXT;
    to.context = c.dstContext, from.context = c.srcContext;
  }
  return copy_corners(to, from, {c.WidthInBytes, c.Height, c.Depth}, stream, waits);
}

/// The forms without a stream come after everything that is queued on either device.
void finish_both(CUcontext a, CUcontext b) {
  for (const CUcontext each : {a, b}) {
    if (is_live(each)) {
      state().scheduler.finish_device(reinterpret_cast<Context*>(each)->device);
    }
  }
}

CUresult between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                 std::size_t bytes, CUstream stream, bool waits) {
  if (const CUresult result = enter()) return result;
  if (!is_live(to_context) || !is_live(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
  Box box{device_side(to), device_side(from), bytes};
  box.to.device = reinterpret_cast<Context*>(to_context)->device;
  box.from.device = reinterpret_cast<Context*>(from_context)->device;
  return copy(box, stream, waits);
}

}  // namespace

CUresult copy_2d_now(const CUDA_MEMCPY2D* c) { return copy_2d(*c, nullptr, true); }
CUresult copy_2d_async(const CUDA_MEMCPY2D* c, CUstream stream) {
  return copy_2d(*c, stream, false);
}
CUresult copy_3d_now(const CUDA_MEMCPY3D* c) { return copy_3d(*c, nullptr, true); }
CUresult copy_3d_async(const CUDA_MEMCPY3D* c, CUstream stream) {
  return copy_3d(*c, stream, false);
}
CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER* c) {
  finish_both(c->srcContext, c->dstContext);
  return copy_3d(*c, nullptr, true);
}
CUresult copy_3d_peer_async(const CUDA_MEMCPY3D_PEER* c, CUstream stream) {
  return copy_3d(*c, stream, false);
}
CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   std::size_t bytes) {
  finish_both(to_context, from_context);
  return between(to, to_context, from, from_context, bytes, nullptr, false);
}
CUresult copy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                         CUcontext from_context, std::size_t bytes, CUstream stream) {
  return between(to, to_context, from, from_context, bytes, stream, false);
}

namespace {

CUresult change_peer(CUcontext context, bool is_enabled) {
  if (const CUresult result = enter()) return result;
  if (!is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  const int peer = reinterpret_cast<Context*>(context)->device;
  if (!can_reach(current_device(), peer)) {
    return is_enabled ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  }
  if (state().memory.set_peer(current_device(), peer, is_enabled)) return CUDA_SUCCESS;
  return is_enabled ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace

CUresult enable_peer(CUcontext context, unsigned flags) {
  return flags == 0 ? change_peer(context, true) : CUDA_ERROR_INVALID_VALUE;
}
CUresult disable_peer(CUcontext context) { return change_peer(context, false); }

}  // namespace quarry::fake::entry
