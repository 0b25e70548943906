// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quarry {

/// What a device can do, with the numbers of CUdevice_attribute. Extents are in elements or
/// threads, and those without a unit of which a device has one or has not are 1 or 0.
enum class DeviceAttribute {
  max_threads_per_block = 1,
  max_block_dim_x = 2,
  max_block_dim_y = 3,
  max_block_dim_z = 4,
  max_grid_dim_x = 5,
  max_grid_dim_y = 6,
  max_grid_dim_z = 7,
  max_shared_memory_per_block = 8,                        ///< bytes
  shared_memory_per_block = max_shared_memory_per_block,  ///< the older name
  total_constant_memory = 9,                              ///< bytes
  warp_size = 10,                                         ///< threads
  max_pitch = 11,                                         ///< bytes between rows, for copies
  max_registers_per_block = 12,                           ///< of 32 bits
  registers_per_block = max_registers_per_block,          ///< the older name
  clock_rate = 13,                                        ///< kHz, the highest
  texture_alignment = 14,                                 ///< bytes
  gpu_overlap = 15,  ///< older: whether copies run at the same time as kernels
  multiprocessor_count = 16,
  kernel_exec_timeout = 17,  ///< whether kernels have a time limit
  integrated = 18,           ///< whether it shares the memory of the host
  can_map_host_memory = 19,
  compute_mode = 20,  ///< a ComputeMode
  maximum_texture1d_width = 21,
  maximum_texture2d_width = 22,
  maximum_texture2d_height = 23,
  maximum_texture3d_width = 24,
  maximum_texture3d_height = 25,
  maximum_texture3d_depth = 26,
  maximum_texture2d_layered_width = 27,
  maximum_texture2d_array_width = maximum_texture2d_layered_width,  ///< the older name
  maximum_texture2d_layered_height = 28,
  maximum_texture2d_array_height = maximum_texture2d_layered_height,  ///< the older name
  maximum_texture2d_layered_layers = 29,
  maximum_texture2d_array_numslices = maximum_texture2d_layered_layers,  ///< the older name
  surface_alignment = 30,                                                ///< bytes
  concurrent_kernels = 31,  ///< whether kernels run at the same time
  ecc_enabled = 32,
  pci_bus_id = 33,  ///< a number; Device::pci_bus_id() has the text
  pci_device_id = 34,
  tcc_driver = 35,               ///< only on Windows
  memory_clock_rate = 36,        ///< kHz
  global_memory_bus_width = 37,  ///< bits
  l2_cache_size = 38,            ///< bytes
  max_threads_per_multiprocessor = 39,
  async_engine_count = 40,  ///< copies at the same time as kernels
  unified_addressing = 41,  ///< one address space with the host
  maximum_texture1d_layered_width = 42,
  maximum_texture1d_layered_layers = 43,
  maximum_texture2d_gather_width = 45,
  maximum_texture2d_gather_height = 46,
  maximum_texture3d_width_alternate = 47,
  maximum_texture3d_height_alternate = 48,
  maximum_texture3d_depth_alternate = 49,
  pci_domain_id = 50,
  texture_pitch_alignment = 51,  ///< bytes
  maximum_texturecubemap_width = 52,
  maximum_texturecubemap_layered_width = 53,
  maximum_texturecubemap_layered_layers = 54,
  maximum_surface1d_width = 55,
  maximum_surface2d_width = 56,
  maximum_surface2d_height = 57,
  maximum_surface3d_width = 58,
  maximum_surface3d_height = 59,
  maximum_surface3d_depth = 60,
  maximum_surface1d_layered_width = 61,
  maximum_surface1d_layered_layers = 62,
  maximum_surface2d_layered_width = 63,
  maximum_surface2d_layered_height = 64,
  maximum_surface2d_layered_layers = 65,
  maximum_surfacecubemap_width = 66,
  maximum_surfacecubemap_layered_width = 67,
  maximum_surfacecubemap_layered_layers = 68,
  maximum_texture1d_linear_width = 69,
  maximum_texture2d_linear_width = 70,
  maximum_texture2d_linear_height = 71,
  maximum_texture2d_linear_pitch = 72,  ///< bytes
  maximum_texture2d_mipmapped_width = 73,
  maximum_texture2d_mipmapped_height = 74,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  maximum_texture1d_mipmapped_width = 77,
  stream_priorities_supported = 78,
  global_l1_cache_supported = 79,
  local_l1_cache_supported = 80,
  max_shared_memory_per_multiprocessor = 81,  ///< bytes
  max_registers_per_multiprocessor = 82,      ///< of 32 bits
  managed_memory = 83,
  multi_gpu_board = 84,
  multi_gpu_board_group_id = 85,               ///< the same for GPUs of one board
  host_native_atomic_supported = 86,           ///< over the link to the host
  single_to_double_precision_perf_ratio = 87,  ///< of operations per second
  pageable_memory_access = 88,                 ///< of memory that is not page-locked
  concurrent_managed_access = 89,              ///< the host may access managed memory meanwhile
  compute_preemption_supported = 90,
  can_use_host_pointer_for_registered_mem = 91,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,  ///< bytes, for kernels that ask for more
  can_flush_remote_writes = 98,
  host_register_supported = 99,
  pageable_memory_access_uses_host_page_tables = 100,
  direct_managed_mem_access_from_host = 101,
  virtual_memory_management_supported = 102,
  handle_type_posix_file_descriptor_supported = 103,
  handle_type_win32_handle_supported = 104,
  handle_type_win32_kmt_handle_supported = 105,
  max_blocks_per_multiprocessor = 106,
  generic_compression_supported = 107,
  max_persisting_l2_cache_size = 108,   ///< bytes
  max_access_policy_window_size = 109,  ///< bytes
  gpu_direct_rdma_with_cuda_vmm_supported = 110,
  reserved_shared_memory_per_block = 111,  ///< bytes, of the driver
  sparse_cuda_array_supported = 112,
  read_only_host_register_supported = 113,
  timeline_semaphore_interop_supported = 114,
  memory_pools_supported = 115,
  gpu_direct_rdma_supported = 116,
  gpu_direct_rdma_flush_writes_options = 117,  ///< CUflushGPUDirectRDMAWritesOptions
  gpu_direct_rdma_writes_ordering = 118,       ///< CUGPUDirectRDMAWritesOrdering
  mempool_supported_handle_types = 119,        ///< CUmemAllocationHandleType, as bits
  cluster_launch = 120,
  deferred_mapping_cuda_array_supported = 121,
  can_use_64_bit_stream_mem_ops = 122,
  can_use_stream_wait_value_nor = 123,
  dma_buf_supported = 124,
  ipc_event_supported = 125,
  mem_sync_domain_count = 126,
  tensor_map_access_supported = 127
};

/// The name in CUDA, without prefix: "WARP_SIZE". Of a number without a name the number.
std::string to_string(DeviceAttribute attribute);
/// By that name, or by the enumerator's ("warp_size"), the older names too; nothing for others.
std::optional<DeviceAttribute> parse_device_attribute(std::string_view name);

/// Which processes may use a GPU, with the numbers of CUcomputemode.
enum class ComputeMode {
  default_ = 0,          ///< any number of processes
  prohibited = 2,        ///< none
  exclusive_process = 3  ///< one process at a time
};

}  // namespace quarry
