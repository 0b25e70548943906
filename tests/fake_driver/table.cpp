// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "fake_driver/entry.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using backend::cuda::DriverTable;
using namespace entry;

DriverTable make_table() {
  DriverTable t;
  t.Init = init, t.DriverGetVersion = driver_version;
  t.GetErrorName = get_error_name, t.GetErrorString = get_error_string;
  t.DeviceGetCount = device_count, t.DeviceGet = device_get, t.DeviceGetName = device_name;
  t.DeviceGetUuid = device_uuid, t.DeviceGetAttribute = get_attribute;
  t.DeviceTotalMem = total_memory, t.DeviceGetPCIBusId = pci_bus_id;
  t.DeviceGetByPCIBusId = device_at, t.DeviceCanAccessPeer = can_access_peer;
  t.DevicePrimaryCtxRetain = retain, t.DevicePrimaryCtxReset = reset;
  t.DevicePrimaryCtxGetState = primary_state, t.CtxGetId = get_id;
  t.CtxGetCurrent = get_current, t.CtxSetCurrent = set_current, t.CtxSynchronize = synchronize;
  t.CtxGetStreamPriorityRange = priority_range;
  t.CtxEnablePeerAccess = enable_peer, t.CtxDisablePeerAccess = disable_peer;
  t.DevicePrimaryCtxRelease = release, t.DevicePrimaryCtxSetFlags = set_primary_flags;
  t.CtxPushCurrent = push_current, t.CtxPopCurrent = pop_current;
  t.CtxSetLimit = set_limit, t.CtxGetLimit = get_limit, t.CtxGetApiVersion = api_version;
  t.CtxSetCacheConfig = set_context_cache_config;
  t.CtxGetCacheConfig = get_context_cache_config;
  t.StreamCreateWithPriority = stream_create, t.StreamDestroy = stream_destroy;
  t.StreamSynchronize = stream_synchronize, t.StreamQuery = stream_query;
  t.StreamWaitEvent = stream_wait, t.LaunchHostFunc = launch_host;
  t.ThreadExchangeStreamCaptureMode = exchange_capture_mode;
  t.StreamBeginCapture = begin_capture, t.StreamEndCapture = end_capture;
  t.GraphDestroy = graph_destroy, t.GraphGetNodes = graph_nodes;
  t.GraphInstantiateWithFlags = graph_instantiate, t.GraphExecUpdate = graph_update;
  t.GraphLaunch = graph_launch, t.GraphExecDestroy = graph_exec_destroy;
  t.EventCreate = event_create, t.EventDestroy = event_destroy, t.EventRecord = event_record;
  t.EventQuery = event_query, t.EventSynchronize = event_synchronize, t.EventElapsedTime = elapsed;
  t.LinkCreate = link_create, t.LinkAddData = link_add_data;
  t.LinkComplete = link_complete, t.LinkDestroy = link_destroy;
  t.ModuleLoadDataEx = module_load, t.ModuleUnload = module_unload;
  t.ModuleGetFunction = module_get_function, t.LaunchKernel = launch_kernel;
  t.LaunchKernelEx = launch_kernel_ex, t.LaunchCooperativeKernel = launch_cooperative;
  t.ModuleGetGlobal = module_get_global, t.FuncGetAttribute = function_attribute;
  t.FuncSetAttribute = set_function_attribute, t.FuncSetCacheConfig = set_cache_config;
  t.FuncGetParamInfo = parameter_info, t.OccupancyMaxPotentialBlockSize = best_block_size;
  t.OccupancyMaxActiveBlocksPerMultiprocessor = blocks_at_once;
  t.ProfilerStart = profiler_start, t.ProfilerStop = profiler_stop;
  t.OccupancyMaxPotentialClusterSize = most_in_cluster;
  t.OccupancyMaxActiveClusters = clusters_at_once;
  return t;
}

void add_memory(DriverTable& t) {
  t.MemGetInfo = mem_get_info, t.MemAlloc = mem_alloc, t.MemFree = mem_free;
  t.MemAllocPitch = mem_alloc_pitch, t.MemAllocManaged = mem_alloc_managed;
  t.MemGetAddressRange = mem_get_address_range;
  t.MemHostAlloc = mem_host_alloc, t.MemFreeHost = mem_free_host;
  t.MemHostGetDevicePointer = mem_host_get_device_pointer;
  t.MemHostGetFlags = mem_host_get_flags;
  t.MemHostRegister = mem_host_register, t.MemHostUnregister = mem_host_unregister;
  t.PointerGetAttributes = pointer_get_attributes;
  t.StreamAttachMemAsync = stream_attach, t.MemPrefetchAsync = mem_prefetch;
  t.MemAdvise = mem_advise;
  t.MemPoolCreate = pool_create, t.MemPoolDestroy = pool_destroy, t.MemPoolTrimTo = pool_trim;
  t.MemPoolSetAttribute = pool_set, t.MemPoolGetAttribute = pool_get;
  t.MemAllocFromPoolAsync = pool_allocate, t.MemFreeAsync = pool_free;
  t.Array3DCreate = array_create, t.Array3DGetDescriptor = array_describe;
  t.ArrayDestroy = array_destroy;
  t.TexObjectCreate = texture_create, t.TexObjectDestroy = texture_destroy;
  t.TexObjectGetResourceDesc = texture_resource, t.TexObjectGetTextureDesc = texture_sampling;
  t.SurfObjectCreate = surface_create, t.SurfObjectDestroy = surface_destroy;
  t.SurfObjectGetResourceDesc = surface_resource;
  t.IpcGetMemHandle = ipc_export_memory, t.IpcOpenMemHandle = ipc_open_memory;
  t.IpcCloseMemHandle = ipc_close_memory;
  t.IpcGetEventHandle = ipc_export_event, t.IpcOpenEventHandle = ipc_open_event;
}

void add_transfers(DriverTable& t) {
  t.MemcpyHtoD = to_device, t.MemcpyHtoDAsync = to_device_async;
  t.MemcpyDtoH = to_host, t.MemcpyDtoHAsync = to_host_async;
  t.MemcpyDtoD = on_device, t.MemcpyDtoDAsync = on_device_async;
  t.Memcpy2D = copy_2d_now, t.Memcpy2DUnaligned = copy_2d_now, t.Memcpy2DAsync = copy_2d_async;
  t.Memcpy3D = copy_3d_now, t.Memcpy3DAsync = copy_3d_async;
  t.MemcpyPeer = copy_peer, t.MemcpyPeerAsync = copy_peer_async;
  t.Memcpy3DPeer = copy_3d_peer, t.Memcpy3DPeerAsync = copy_3d_peer_async;
  t.MemcpyBatchAsync = batch_async;
  t.MemsetD8Async = set_8_async, t.MemsetD16Async = set_16_async;
  t.MemsetD32Async = set_32_async;
  t.MemsetD2D8Async = set_2d_8_async, t.MemsetD2D16Async = set_2d_16_async;
  t.MemsetD2D32Async = set_2d_32_async;
}

}  // namespace

const DriverTable& driver_table() {
  static const DriverTable table = [] {
    DriverTable t = make_table();
    add_memory(t);
    add_transfers(t);
    return t;
  }();
  return table;
}

CUresult get_proc_address(const char* symbol, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  const DriverTable& table = driver_table();
  const Guard lock(state().mutex);
  *function = nullptr;
  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (state().machine.missing.contains(symbol)) return CUDA_ERROR_NOT_FOUND;
  if (version > state().machine.driver_version) {
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return CUDA_ERROR_NOT_FOUND;
  }
#define QUARRY_DRIVER(name, since, need) \
  if (std::string_view(symbol) == "cu" #name) *function = reinterpret_cast<void*>(table.name);
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
  if (!*function) return CUDA_ERROR_NOT_FOUND;
  *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake
