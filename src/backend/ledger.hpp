// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace quarry::backend {

/// The kinds of objects on a device. For those up to `array` the ledger has each address.
enum class Owned : std::uint8_t {
  device_memory,
  managed_memory,
  pooled_memory,      ///< of the driver's stream-ordered pool
  host_memory,        ///< page-locked
  registered_memory,  ///< of the program, page-locked
  imported_memory,    ///< of another process
  array,              ///< CUDA arrays
  stream,
  event,
  module,  ///< kernels of the program
  graph,   ///< instantiated ones
  texture  ///< texture objects and surface objects
};
inline constexpr std::size_t owned_kinds = 12;

struct OwnedCount {
  std::size_t count = 0, bytes = 0;  ///< no bytes of streams and those below
  bool operator==(const OwnedCount&) const = default;
};

/// The live objects on a device at one time.
struct Inventory {
  std::array<OwnedCount, owned_kinds> all{};

  const OwnedCount& operator[](Owned kind) const { return all[static_cast<std::size_t>(kind)]; }
  OwnedCount& operator[](Owned kind) { return all[static_cast<std::size_t>(kind)]; }
  bool empty() const { return *this == Inventory{}; }
  bool operator==(const Inventory&) const = default;
};
/// "2 blocks of device memory (512 bytes), 1 stream"; "nothing" of an empty one.
std::string to_string(const Inventory& inventory);

/// The live objects on one device, whoever owns them. Thread-safe.
class Ledger {
 public:
  /// Throws std::bad_alloc, and then nothing has changed.
  void add(Owned kind, const void* handle, std::size_t bytes);
  /// Ignores unknown handles: the driver reports them.
  void remove(Owned kind, const void* handle) noexcept;
  Inventory inventory() const;

 private:
  static constexpr std::size_t known_kinds = static_cast<std::size_t>(Owned::stream);
  using Blocks = std::unordered_map<const void*, std::size_t>;

  std::atomic<std::size_t>& counter(Owned kind) {
    return counters_[static_cast<std::size_t>(kind) - known_kinds];
  }

  mutable std::mutex mutex_;
  std::array<Blocks, known_kinds> blocks_;
  std::array<std::size_t, known_kinds> bytes_{};
  std::array<std::atomic<std::size_t>, owned_kinds - known_kinds> counters_{};
};

}  // namespace quarry::backend
