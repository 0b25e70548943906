// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

/// How many blocks of a kernel a multiprocessor runs at once, computed from the numbers of a GPU:
/// no driver call, and no GPU for one whose attributes are given. For a kernel that is loaded there
/// is Function::blocks_per_multiprocessor(), which asks the driver; the results are equal.
///
///     qy::OccupancyRecord record(qy::DeviceData(), 256, f.shared_size_bytes(), f.num_regs());
///     record.tb_per_mp, record.occupancy;
///
namespace quarry {

/// What limits the blocks on a multiprocessor of a GPU. Sizes are in bytes.
struct DeviceData {
  /// Of a GPU. Throws LogicError for the CPU device.
  explicit DeviceData(const Device& device = {});
  /// Of a GPU with these attributes, named as Device::attributes() names them. Throws LogicError if
  /// one of those that are needed is missing.
  explicit DeviceData(const std::map<std::string, std::int64_t>& attributes);

  int max_threads = 0;                      ///< of a block
  int warp_size = 0;                        ///< threads of a warp
  int warps_per_mp = 0;                     ///< that a multiprocessor holds
  int thread_blocks_per_mp = 0;             ///< that a multiprocessor holds
  int registers = 0;                        ///< of a multiprocessor, of 4 bytes
  int registers_per_block = 0;              ///< that a block may have
  std::size_t shared_memory = 0;            ///< of a multiprocessor
  std::size_t shared_memory_per_block = 0;  ///< at most, for a kernel that has asked for it
  std::size_t reserved_shared_memory = 0;   ///< that each block takes besides its own
  /// Threads that access the banks of shared memory at a time.
  int smem_granularity = 0;
  /// Shared memory is given to blocks in multiples of this.
  std::size_t smem_alloc_granularity = 0;

  /// The size at which accesses of a warp by words of `word_size` bytes are best aligned: 64 for
  /// words of 4 bytes, 128 for 8 and 16. Throws LogicError for others.
  static int align_bytes(int word_size = 4);
  /// `bytes` rounded up to a multiple of align_bytes(word_size).
  static std::size_t align(std::size_t bytes, int word_size = 4);
  /// align_bytes(word_size) in words.
  static int align_words(int word_size);
  /// The number of elements of `dtype_size` bytes that `elements` of them take when rounded up to
  /// a multiple of align_bytes(dtype_size).
  static std::size_t align_dtype(std::size_t elements, int dtype_size);
  /// The least number of channels that textures can have (1, 2 or 4) which is not below `size`.
  /// Throws LogicError above 4.
  static int make_valid_tex_channel_count(int size);
};

/// What keeps a multiprocessor from running more blocks.
enum class OccupancyLimit {
  device,  ///< the number of blocks
  warps,   ///< the number of warps
  regs,    ///< the registers
  smem     ///< the shared memory
};
/// "device", "warps", "regs", "smem".
std::string to_string(OccupancyLimit limit);

/// The blocks of a kernel on a multiprocessor.
struct OccupancyRecord {
  /// For blocks of `threads` threads with `shared_mem` bytes of shared memory, static and dynamic
  /// together, each thread with `registers` registers; with 0 they are left out of account. Shared
  /// memory above 48 KiB is taken as asked for, as by Function::launch(). Throws LogicError for
  /// blocks that cannot be launched.
  OccupancyRecord(const DeviceData& devdata, int threads, std::size_t shared_mem = 0,
                  int registers = 0);

  int tb_per_mp = 0;               ///< blocks that a multiprocessor runs at once
  OccupancyLimit limited_by = {};  ///< of several the first by name
  int warps_per_mp = 0;            ///< of these blocks
  double occupancy = 0;            ///< share of the warps that the multiprocessor could hold
};

}  // namespace quarry
