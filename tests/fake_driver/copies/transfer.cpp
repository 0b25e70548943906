// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "fake_driver/copies/copy.hpp"
#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

/// Copies of one run of bytes, and batches of them.
namespace quarry::fake::entry {
namespace {

Box run(const Side& to, const Side& from, std::size_t bytes) {
  return {.to = to, .from = from, .bytes = bytes};
}

bool is_valid(const CUmemcpyAttributes& attributes) {
  const auto order = attributes.srcAccessOrder;
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
         attributes.flags <= CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
}

/// Whether the attributes name every copy, in order.
bool are_valid(const CUmemcpyAttributes* attributes, const std::size_t* first, std::size_t n,
               std::size_t copies) {
  if (n == 0 || n > copies || first[0] != 0) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_valid(attributes[i]) || first[i] >= copies) return false;
    if (i > 0 && first[i] <= first[i - 1]) return false;
  }
  return true;
}

/// The side of a batched copy: the driver finds out what the address is.
Side any_side(CUdeviceptr address) { return {.at = address}; }

}  // namespace

CUresult to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(run(device_side(to), host_side(from), bytes), nullptr, true);
}
CUresult to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(run(host_side(to), device_side(from), bytes), nullptr, true);
}
CUresult on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(run(device_side(to), device_side(from), bytes), nullptr, false);
}
CUresult to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy(run(device_side(to), host_side(from), bytes), stream, false);
}
CUresult to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(run(host_side(to), device_side(from), bytes), stream, false);
}
CUresult on_device_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(run(device_side(to), device_side(from), bytes), stream, false);
}

CUresult batch_async(CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                     CUmemcpyAttributes* attributes, std::size_t* first, std::size_t n,
                     CUstream stream) {
  if (const CUresult result = enter()) return result;
  const bool is_legacy = !stream || stream == CU_STREAM_LEGACY;
  if (is_legacy || !to || !from || !bytes || !attributes || !first || count == 0 ||
      !are_valid(attributes, first, n, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<BatchedCopy> copies;
  for (std::size_t i = 0, k = 0; i < count; ++i) {
    if (k + 1 < n && first[k + 1] == i) ++k;
    if (bytes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    const bool is_read_now =
        attributes[k].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    copies.push_back({run(any_side(to[i]), any_side(from[i]), bytes[i]), is_read_now});
  }
  return copy_batch(copies, stream);
}

}  // namespace quarry::fake::entry
