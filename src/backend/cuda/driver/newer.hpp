// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>

/// Declarations that differ or are missing in cuda.h of CUDA 12, compared with CUDA 13.

#if CUDA_VERSION < 12020
constexpr auto CU_MEM_LOCATION_TYPE_HOST = static_cast<CUmemLocationType>(2);
constexpr auto CU_MEM_LOCATION_TYPE_HOST_NUMA = static_cast<CUmemLocationType>(3);
constexpr auto CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = static_cast<CUmemLocationType>(4);
#endif

#if CUDA_VERSION < 12080
enum CUmemcpySrcAccessOrder {
  CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
  CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
  CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3
};
constexpr unsigned CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1;
struct CUmemcpyAttributes {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint, dstLocHint;
  unsigned flags;
};
#endif

#if CUDA_VERSION < 12040
/// Never defined: its type is that of the table in driver.hpp.
namespace quarry::backend::cuda {
CUresult cuFuncGetParamInfo(CUfunction, std::size_t, std::size_t*, std::size_t*);
}  // namespace quarry::backend::cuda
#endif

#if CUDA_VERSION < 13000
/// Never defined: their types are those of the table in driver.hpp.
namespace quarry::backend::cuda {
CUresult cuMemPrefetchAsync(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream);
CUresult cuMemAdvise(CUdeviceptr, std::size_t, CUmem_advise, CUmemLocation);
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                            CUmemcpyAttributes*, std::size_t*, std::size_t, CUstream);
}  // namespace quarry::backend::cuda
#endif

/// Of cudaProfiler.h, which the build does not need for them. Never defined, as the ones above.
namespace quarry::backend::cuda {
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}  // namespace quarry::backend::cuda
