// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace quarry {

/// Of bytes or of allocations. In a scope `current` is below 0 when memory from before was freed.
struct Tally {
  std::int64_t current = 0, peak = 0, total = 0;
  bool operator==(const Tally&) const = default;
};

/// What was allocated: bytes as asked for, and allocations.
struct AllocationStatistics {
  Tally bytes, allocations;
  std::int64_t failed = 0;  ///< allocations that threw
  bool operator==(const AllocationStatistics&) const = default;
};
/// "bytes: 256 current, 512 peak, 768 total; allocations: 1 current, 2 peak, 3 total; 0 failed"
std::string to_string(const AllocationStatistics& statistics);

/// Counts what passes through it.
class Statistics : public detail::Adaptor<Statistics> {
 public:
  static constexpr const char* kind = "statistics";
  explicit Statistics(Resource upstream);

  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  /// Since the adaptor was made; all figures are of the same moment.
  AllocationStatistics statistics() const;

  /// Counts from 0 what passes from its start on, in any thread. Scopes may nest and overlap.
  class Scope;
  [[nodiscard]] Scope scope() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Statistics::Scope {
 public:
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  AllocationStatistics statistics() const;

 private:
  friend class Statistics;
  explicit Scope(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
  AllocationStatistics counted_;
};

}  // namespace quarry
