// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/backend.hpp"

/// The driver's types for the plain pointers of backend.hpp.
namespace quarry::backend::cuda {

inline CUstream native(Stream stream) { return static_cast<CUstream>(stream); }
inline CUevent native_event(Event event) { return static_cast<CUevent>(event); }
inline CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// The stream that waits for every other one that is not non-blocking.
inline bool is_legacy(CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; }

}  // namespace quarry::backend::cuda
