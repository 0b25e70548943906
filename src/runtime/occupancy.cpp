// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/occupancy.hpp>

#include <fmt/format.h>

#include <limits>

namespace quarry {
namespace {

/// A multiprocessor has this many parts, each with its share of the registers and the warps.
constexpr int parts = 4;
/// Registers are given to warps in multiples of this.
constexpr int register_unit = 256;
constexpr int most_registers = 255;  ///< of a thread

template <class I>
I round_up(I value, I unit) {
  return (value + unit - 1) / unit * unit;
}

/// The attribute, or `instead` where one is given.
std::int64_t value_of(const std::map<std::string, std::int64_t>& attributes, const char* name,
                      std::int64_t instead = -1) {
  const auto found = attributes.find(name);
  if (found != attributes.end()) return found->second;
  require<LogicError>(instead >= 0,
                      [&] { return fmt::format("DeviceData: the attributes have no {}", name); });
  return instead;
}

std::map<std::string, std::int64_t> attributes_of_gpu(const Device& device) {
  require<LogicError>(!device.is_cpu(), "DeviceData: the CPU device has no multiprocessors");
  return device.attributes();
}

void require_range(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  require<LogicError>(value >= least && value <= most, [&] {
    return fmt::format("OccupancyRecord: {} {}, which is not within {} and {}", value, what, least,
                       most);
  });
}

/// The most blocks by one limit.
struct Bound {
  OccupancyLimit by;
  std::int64_t blocks;
};

constexpr std::int64_t unlimited = std::numeric_limits<int>::max();

/// Each part has its own registers, and a warp takes those of one part.
std::int64_t blocks_by_registers(const DeviceData& gpu, int warps, int registers) {
  if (registers == 0) return unlimited;
  const int of_warp = round_up(registers * gpu.warp_size, register_unit);
  const int of_block = of_warp * round_up(warps, parts);
  require_range("registers of a block", of_block, 0, gpu.registers_per_block);
  return gpu.registers / parts / of_warp * parts / warps;
}

std::int64_t blocks_by_shared_memory(const DeviceData& gpu, std::size_t bytes) {
  const std::size_t taken =
      round_up(bytes + gpu.reserved_shared_memory, gpu.smem_alloc_granularity);
  return taken == 0 ? unlimited : static_cast<std::int64_t>(gpu.shared_memory / taken);
}

}  // namespace

DeviceData::DeviceData(const Device& device) : DeviceData(attributes_of_gpu(device)) {}

DeviceData::DeviceData(const std::map<std::string, std::int64_t>& attributes) {
  const auto value = [&](const char* name, std::int64_t instead = -1) {
    return value_of(attributes, name, instead);
  };
  const auto number = [&](const char* name) { return static_cast<int>(value(name)); };
  const auto bytes = [&](const char* name, std::int64_t instead = -1) {
    return static_cast<std::size_t>(value(name, instead));
  };
  const int major = number("COMPUTE_CAPABILITY_MAJOR");
  max_threads = number("MAX_THREADS_PER_BLOCK");
  warp_size = number("WARP_SIZE");
  warps_per_mp = number("MAX_THREADS_PER_MULTIPROCESSOR") / warp_size;
  thread_blocks_per_mp = number("MAX_BLOCKS_PER_MULTIPROCESSOR");
  registers = number("MAX_REGISTERS_PER_MULTIPROCESSOR");
  registers_per_block = number("MAX_REGISTERS_PER_BLOCK");
  shared_memory = bytes("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR");
  shared_memory_per_block = bytes("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN");
  reserved_shared_memory = bytes("RESERVED_SHARED_MEMORY_PER_BLOCK", major >= 8 ? 1024 : 0);
  smem_granularity = warp_size;
  smem_alloc_granularity = major >= 8 ? 128 : 256;
}

int DeviceData::align_bytes(int word_size) {
  require<LogicError>(word_size == 4 || word_size == 8 || word_size == 16, [&] {
    return fmt::format("align_bytes: words of {} bytes, not 4, 8 or 16", word_size);
  });
  return word_size == 4 ? 64 : 128;
}

std::size_t DeviceData::align(std::size_t bytes, int word_size) {
  return round_up(bytes, static_cast<std::size_t>(align_bytes(word_size)));
}

int DeviceData::align_words(int word_size) { return align_bytes(word_size) / word_size; }

std::size_t DeviceData::align_dtype(std::size_t elements, int dtype_size) {
  return round_up(elements, static_cast<std::size_t>(align_words(dtype_size)));
}

int DeviceData::make_valid_tex_channel_count(int size) {
  require<LogicError>(size <= 4, [&] {
    return fmt::format("make_valid_tex_channel_count: {} channels, textures have 4 at most", size);
  });
  return size <= 1 ? 1 : size == 2 ? 2 : 4;
}

std::string to_string(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::device:
      return "device";
    case OccupancyLimit::warps:
      return "warps";
    case OccupancyLimit::regs:
      return "regs";
    case OccupancyLimit::smem:
      return "smem";
  }
  return "unknown";
}

OccupancyRecord::OccupancyRecord(const DeviceData& devdata, int threads, std::size_t shared_mem,
                                 int registers) {
  require_range("threads", threads, 1, devdata.max_threads);
  require_range("registers of a thread", registers, 0, most_registers);
  require<LogicError>(shared_mem <= devdata.shared_memory_per_block, [&] {
    return fmt::format("OccupancyRecord: {} bytes of shared memory, a block has {} at most",
                       shared_mem, devdata.shared_memory_per_block);
  });
  const int warps = round_up(threads, devdata.warp_size) / devdata.warp_size;
  const Bound bounds[] = {// by name
                          {OccupancyLimit::device, devdata.thread_blocks_per_mp},
                          {OccupancyLimit::regs, blocks_by_registers(devdata, warps, registers)},
                          {OccupancyLimit::smem, blocks_by_shared_memory(devdata, shared_mem)},
                          {OccupancyLimit::warps, devdata.warps_per_mp / warps}};
  Bound least = bounds[0];
  for (const Bound& bound : bounds) {
    if (bound.blocks < least.blocks) least = bound;
  }
  tb_per_mp = static_cast<int>(least.blocks);
  limited_by = least.by;
  warps_per_mp = tb_per_mp * warps;
  occupancy = static_cast<double>(warps_per_mp) / devdata.warps_per_mp;
}

}  // namespace quarry
