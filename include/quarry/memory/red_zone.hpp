// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/memory/adaptor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quarry {

/// How a block, or the memory around it, was misused.
enum class MemoryFaultKind {
  overwritten_before,  ///< bytes in front of a block were written to
  overwritten_after,   ///< bytes after a block were written to
  used_after_free,     ///< a block was written to after it was freed
  double_free,
  foreign_pointer,  ///< freed, but not the start of a block of the adaptor
  wrong_size,       ///< freed with another size or alignment than it was allocated with
};
/// "freed twice", "overwritten after its end", ...
std::string to_string(MemoryFaultKind kind);

/// Misuse of a block.
struct MemoryFault {
  MemoryFaultKind kind;       ///< what was found
  void* block = nullptr;      ///< the freed address, if no block is known
  std::size_t bytes = 0;      ///< of the block, as asked for
  std::uint64_t number = 0;   ///< of the allocation, 1 is the adaptor's first; 0 if not known
  std::ptrdiff_t offset = 0;  ///< from the block's start to the first byte that was written to
};
/// "block #3 of 1000 bytes at 0x7f00: byte 1003 was written, 4 bytes after the end"
std::string to_string(const MemoryFault& fault);

/// How blocks are guarded.
struct RedZoneOptions {
  std::size_t zone = 256;  ///< bytes before and after each block
  /// Bytes of freed blocks that are held back from reuse, to find late writes.
  std::size_t quarantine = std::size_t{64} << 20;
  /// Called at each fault. Without it, faults found by deallocate are written to std::cerr and
  /// those found by check() are thrown. Its exceptions in deallocate are ignored.
  detail::Callable<void(const MemoryFault&)> handler = {};
};

/// A debugging aid that finds writes outside of blocks and after their free, double frees, and
/// frees of addresses that are no block; invalid frees are not passed to the upstream. Blocks are
/// filled with 0xFB when allocated and when freed, so that early and late reads are visible.
/// Deallocation waits for the stream; so does allocation of host-accessible memory.
class RedZone : public detail::Adaptor<RedZone> {
 public:
  static constexpr const char* kind = "red zones";     ///< begins name()
  static constexpr unsigned char poison = 0xFB;        ///< of fresh and of freed blocks
  static constexpr unsigned char zone_pattern = 0xA5;  ///< around blocks
  /// Guards the blocks that come from `upstream`.
  explicit RedZone(Resource upstream, const RedZoneOptions& options = {});

  /// If memory runs out, quarantined blocks are freed before a second attempt.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Checks the block and keeps it in quarantine. Faults are reported, not thrown.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;
  /// Empties the quarantine, whose blocks are checked, and trims the upstream.
  void trim() const;

  /// Waits for the device and checks all blocks, those in quarantine too. Throws LogicError with
  /// all new faults, unless there is a handler.
  void check() const;
  /// All that were found so far, oldest first.
  std::vector<MemoryFault> faults() const;
  std::size_t quarantined_bytes() const;  ///< of freed blocks that are kept

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quarry
