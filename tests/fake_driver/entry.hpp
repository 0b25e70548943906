// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/cuda/driver/newer.hpp"

/// The driver's functions.
namespace quarry::fake::entry {

CUresult init(unsigned flags);
CUresult driver_version(int* version);
CUresult get_error_name(CUresult error, const char** text);
CUresult get_error_string(CUresult error, const char** text);
CUresult device_count(int* count);
CUresult device_get(CUdevice* device, int ordinal);
CUresult device_name(char* name, int size, CUdevice device);
CUresult device_uuid(CUuuid* uuid, CUdevice device);
CUresult total_memory(std::size_t* bytes, CUdevice device);
CUresult pci_bus_id(char* text, int size, CUdevice device);
CUresult device_at(CUdevice* device, const char* pci_bus_id);
CUresult get_attribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult can_access_peer(int* can, CUdevice device, CUdevice peer);

CUresult retain(CUcontext* context, CUdevice device);
CUresult release(CUdevice device);
CUresult reset(CUdevice device);
CUresult primary_state(CUdevice device, unsigned* flags, int* is_active);
CUresult set_primary_flags(CUdevice device, unsigned flags);
CUresult get_id(CUcontext context, unsigned long long* id);
CUresult get_current(CUcontext* context);
CUresult set_current(CUcontext context);
CUresult push_current(CUcontext context);
CUresult pop_current(CUcontext* context);
CUresult api_version(CUcontext context, unsigned* version);
CUresult set_limit(CUlimit limit, std::size_t value);
CUresult get_limit(std::size_t* value, CUlimit limit);
CUresult set_context_cache_config(CUfunc_cache config);
CUresult get_context_cache_config(CUfunc_cache* config);
CUresult synchronize();
CUresult priority_range(int* least, int* greatest);
CUresult enable_peer(CUcontext context, unsigned flags);
CUresult disable_peer(CUcontext context);

CUresult stream_create(CUstream* stream, unsigned flags, int priority);
CUresult stream_destroy(CUstream stream);
CUresult stream_synchronize(CUstream stream);
CUresult stream_query(CUstream stream);
CUresult stream_wait(CUstream stream, CUevent event, unsigned flags);
CUresult launch_host(CUstream stream, CUhostFn function, void* with);

CUresult exchange_capture_mode(CUstreamCaptureMode* mode);
CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode);
CUresult end_capture(CUstream stream, CUgraph* graph);
CUresult graph_instantiate(CUgraphExec* made, CUgraph graph, unsigned long long flags);
CUresult graph_nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count);
CUresult graph_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);
CUresult graph_launch(CUgraphExec graph, CUstream stream);
CUresult graph_destroy(CUgraph graph);
CUresult graph_exec_destroy(CUgraphExec graph);

CUresult profiler_start();
CUresult profiler_stop();

CUresult event_create(CUevent* event, unsigned flags);
CUresult event_destroy(CUevent event);
CUresult event_record(CUevent event, CUstream stream);
CUresult event_query(CUevent event);
CUresult event_synchronize(CUevent event);
CUresult elapsed(float* ms, CUevent start, CUevent end);

CUresult mem_get_info(std::size_t* free, std::size_t* total);
CUresult mem_alloc(CUdeviceptr* out, std::size_t bytes);
CUresult mem_alloc_pitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                         std::size_t height, unsigned element);
CUresult mem_free(CUdeviceptr address);
CUresult mem_get_address_range(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr address);
CUresult mem_host_alloc(void** out, std::size_t bytes, unsigned flags);
CUresult mem_free_host(void* memory);
CUresult mem_host_get_device_pointer(CUdeviceptr* out, void* memory, unsigned flags);
CUresult mem_host_get_flags(unsigned* flags, void* memory);
CUresult mem_host_register(void* memory, std::size_t bytes, unsigned flags);
CUresult mem_host_unregister(void* memory);
CUresult mem_alloc_managed(CUdeviceptr* out, std::size_t bytes, unsigned flags);
CUresult stream_attach(CUstream stream, CUdeviceptr address, std::size_t bytes, unsigned flags);
CUresult mem_prefetch(CUdeviceptr address, std::size_t bytes, CUmemLocation to, unsigned flags,
                      CUstream stream);
CUresult mem_advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                    CUmemLocation about);
CUresult pointer_get_attributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address);

CUresult pool_create(CUmemoryPool* pool, const CUmemPoolProps* properties);
CUresult pool_destroy(CUmemoryPool pool);
CUresult pool_trim(CUmemoryPool pool, std::size_t keep);
CUresult pool_set(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult pool_get(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult pool_allocate(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult pool_free(CUdeviceptr address, CUstream stream);

CUresult array_create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* wanted);
CUresult array_describe(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array);
CUresult array_destroy(CUarray array);
CUresult texture_create(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                        const CUDA_TEXTURE_DESC* sampling, const CUDA_RESOURCE_VIEW_DESC* view);
CUresult texture_destroy(CUtexObject texture);
CUresult texture_resource(CUDA_RESOURCE_DESC* out, CUtexObject texture);
CUresult texture_sampling(CUDA_TEXTURE_DESC* out, CUtexObject texture);
CUresult surface_create(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource);
CUresult surface_destroy(CUsurfObject surface);
CUresult surface_resource(CUDA_RESOURCE_DESC* out, CUsurfObject surface);

CUresult ipc_export_memory(CUipcMemHandle* handle, CUdeviceptr address);
CUresult ipc_open_memory(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags);
CUresult ipc_close_memory(CUdeviceptr address);
CUresult ipc_export_event(CUipcEventHandle* handle, CUevent event);
CUresult ipc_open_event(CUevent* event, CUipcEventHandle handle);

CUresult to_device(CUdeviceptr to, const void* from, std::size_t bytes);
CUresult to_host(void* to, CUdeviceptr from, std::size_t bytes);
CUresult on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
CUresult to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
CUresult to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult on_device_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult batch_async(CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                     CUmemcpyAttributes* attributes, std::size_t* first, std::size_t n,
                     CUstream stream);
CUresult copy_2d_now(const CUDA_MEMCPY2D* copy);
CUresult copy_2d_async(const CUDA_MEMCPY2D* copy, CUstream stream);
CUresult copy_3d_now(const CUDA_MEMCPY3D* copy);
CUresult copy_3d_async(const CUDA_MEMCPY3D* copy, CUstream stream);
CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER* copy);
CUresult copy_3d_peer_async(const CUDA_MEMCPY3D_PEER* copy, CUstream stream);
CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   std::size_t bytes);
CUresult copy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                         CUcontext from_context, std::size_t bytes, CUstream stream);

CUresult set_8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream);
CUresult set_16_async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream);
CUresult set_32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream);
CUresult set_2d_8_async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                        std::size_t height, CUstream stream);
CUresult set_2d_16_async(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                         std::size_t height, CUstream stream);
CUresult set_2d_32_async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                         std::size_t height, CUstream stream);

CUresult link_create(unsigned, CUjit_option*, void**, CUlinkState*);
CUresult link_add_data(CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned,
                       CUjit_option*, void**);
CUresult link_complete(CUlinkState, void** code, std::size_t* bytes);
CUresult link_destroy(CUlinkState);
CUresult module_load(CUmodule* module, const void* image, unsigned, CUjit_option*, void**);
CUresult module_unload(CUmodule module);
CUresult module_get_function(CUfunction* function, CUmodule module, const char* name);
CUresult module_get_global(CUdeviceptr* address, std::size_t* bytes, CUmodule module,
                           const char* name);
CUresult function_attribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult set_function_attribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult set_cache_config(CUfunction function, CUfunc_cache config);
CUresult parameter_info(CUfunction function, std::size_t index, std::size_t* offset,
                        std::size_t* size);
CUresult best_block_size(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                         std::size_t shared, int limit);
CUresult blocks_at_once(int* blocks, CUfunction function, int threads, std::size_t shared);
CUresult most_in_cluster(int* blocks, CUfunction function, const CUlaunchConfig* config);
CUresult clusters_at_once(int* clusters, CUfunction function, const CUlaunchConfig* config);
CUresult launch_cooperative(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                            CUstream stream, void** parameters);
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** parameters, void** extra);
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra);

}  // namespace quarry::fake::entry
