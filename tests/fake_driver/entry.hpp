// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

/// The parts of the table that are not in driver.cpp.
namespace quarry::fake::entry {

CUresult get_attribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult get_error_name(CUresult error, const char** text);
CUresult get_error_string(CUresult error, const char** text);

CUresult mem_get_info(std::size_t* free, std::size_t* total);
CUresult mem_alloc(CUdeviceptr* out, std::size_t bytes);
CUresult mem_free(CUdeviceptr address);
CUresult mem_host_alloc(void** out, std::size_t bytes, unsigned flags);
CUresult mem_free_host(void* memory);

CUresult to_device(CUdeviceptr to, const void* from, std::size_t bytes);
CUresult to_host(void* to, CUdeviceptr from, std::size_t bytes);
CUresult on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
CUresult to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
CUresult to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult on_device_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult copy_2d_async(const CUDA_MEMCPY2D* copy, CUstream stream);
CUresult set_8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream);
CUresult set_16_async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream);
CUresult set_32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream);
CUresult set_2d_32_async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                         std::size_t height, CUstream stream);

CUresult module_load(CUmodule* module, const void* image, unsigned, CUjit_option*, void**);
CUresult module_unload(CUmodule module);
CUresult module_get_function(CUfunction* function, CUmodule module, const char* name);
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** parameters, void** extra);

}  // namespace quarry::fake::entry
