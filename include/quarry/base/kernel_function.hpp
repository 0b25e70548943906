// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

/// What every layer says of kernels that a program brings as source or as machine code.
namespace quarry {

/// Extents of a grid (in blocks) or of a block (in threads). Implicit from a number.
struct Dim3 {
  ///@{
  /// Along each axis.
  std::int64_t x = 1, y = 1, z = 1;
  ///@}

  ///@{
  /// (1, 1, 1), or what is given.
  constexpr Dim3() = default;
  template <std::integral I>
  constexpr Dim3(I along_x) : x(static_cast<std::int64_t>(along_x)) {}
  constexpr Dim3(std::int64_t along_x, std::int64_t along_y, std::int64_t along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}
  ///@}
  /// Whether all three are equal.
  friend bool operator==(const Dim3&, const Dim3&) = default;
};
/// "(128, 2, 1)".
std::string to_string(const Dim3& extents);

/// Attributes of a kernel, with the numbers of CUfunction_attribute; sizes in bytes.
enum class FunctionAttribute {
  max_threads_per_block = 0,
  shared_size_bytes = 1,  ///< static shared memory of a block
  const_size_bytes = 2,
  local_size_bytes = 3,  ///< of a thread: spilled registers, arrays with computed indices
  num_regs = 4,          ///< registers of a thread
  ptx_version = 5,       ///< 90 is 9.0
  binary_version = 6,
  cache_mode_ca = 7,
  max_dynamic_shared_size_bytes = 8,     ///< can be set
  preferred_shared_memory_carveout = 9,  ///< can be set: percent of the shared memory, or -1
  cluster_size_must_be_set = 10,
  required_cluster_width = 11,  ///< can be set, as the next three
  required_cluster_height = 12,
  required_cluster_depth = 13,
  non_portable_cluster_size_allowed = 14,
  cluster_scheduling_policy_preference = 15
};

/// How the first-level cache and shared memory share their memory, with the numbers of
/// CUfunc_cache.
enum class CacheConfig { prefer_none = 0, prefer_shared = 1, prefer_l1 = 2, prefer_equal = 3 };

/// Options of the driver's compiler, with the numbers of CUjit_option. Those of the buffers for its
/// logs are the library's own: what is written there goes to ModuleOptions::message_handler.
enum class JitOption {
  max_registers = 0,       ///< of a thread
  threads_per_block = 1,   ///< the least to compile for; JitReport has those that it compiled for
  wall_time = 2,           ///< a result: its value is ignored, see JitReport
  optimization_level = 7,  ///< 0 to 4, which is the default
  target_from_cucontext = 8,  ///< the GPU at hand, which is the default; its value is ignored
  target = 9,  ///< compute capability, 90 for 9.0; the driver refuses it with threads_per_block
  fallback_strategy = 10,    ///< a JitFallback
  generate_debug_info = 11,  ///< 0 or 1, as the next two
  log_verbose = 12,
  generate_line_info = 13,
  cache_mode = 14,  ///< of loads from global memory: 0 as the code says, 1 not in L1, 2 in L1
  position_independent_code = 30,  ///< 0 or 1
  min_cta_per_sm = 31,             ///< blocks that a multiprocessor is to run at once
  max_threads_per_block = 32,
  override_directive_values = 33,  ///< 1: the options count more than the code's own directives
  split_compile = 34               ///< threads that compile; 0 for all processors
};

/// What the driver takes where there is no machine code for the GPU, for
/// JitOption::fallback_strategy.
enum class JitFallback { prefer_ptx = 0, prefer_binary = 1 };

}  // namespace quarry
