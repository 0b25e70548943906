// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace quarry {

/// Of bytes or of allocations. In a scope `current` is below 0 when memory from before was freed.
struct Tally {
  std::int64_t current = 0;  ///< now
  std::int64_t peak = 0;     ///< the most that `current` has been
  std::int64_t total = 0;    ///< of all allocations so far
  /// Whether all figures are equal.
  bool operator==(const Tally&) const = default;
};

/// What was allocated: bytes as requested, and allocations.
struct AllocationStatistics {
  Tally bytes;              ///< as asked for
  Tally allocations;        ///< that succeeded
  std::int64_t failed = 0;  ///< allocations that threw
  /// Whether all figures are equal.
  bool operator==(const AllocationStatistics&) const = default;
};
/// "bytes: 256 current, 512 peak, 768 total; allocations: 1 current, 2 peak, 3 total; 0 failed"
std::string to_string(const AllocationStatistics& statistics);

/// Counts the allocations that pass through it.
class Statistics : public detail::Adaptor<Statistics> {
 public:
  static constexpr const char* kind = "statistics";  ///< begins name()
  /// Counts from 0.
  explicit Statistics(Resource upstream);

  /// Passed on and counted, also if it throws.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on and counted.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  /// Since the adaptor was made; all figures are of the same moment.
  AllocationStatistics statistics() const;

  class Scope;
  /// Counts allocations from now on.
  [[nodiscard]] Scope scope() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Counts allocations from its start on, in any thread. Scopes may nest and overlap.
class Statistics::Scope {
 public:
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  AllocationStatistics statistics() const;  ///< since the scope began

 private:
  friend class Statistics;
  explicit Scope(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
  AllocationStatistics counted_;
};

}  // namespace quarry
