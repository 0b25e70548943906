// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

#include <cstdint>
#include <memory>

namespace quarry {

/// Which allocations fail.
struct Failures {
  std::uint64_t nth = 0;   ///< 1 is the next; 0 for none
  bool and_later = false;  ///< the nth and all after it
  double probability = 0;  ///< of each, in [0, 1]
  std::uint64_t seed = 1;  ///< the same seed fails the same ones
};

/// Makes allocations fail with MemoryError, without calling the upstream: for tests.
class Failing : public detail::Adaptor<Failing> {
 public:
  static constexpr const char* kind = "failing";  ///< begins name()
  /// Without failures everything is passed on.
  explicit Failing(Resource upstream, const Failures& failures = {});

  /// Throws MemoryError where it is to fail; else passed on.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  /// From now on; counts from 0 again. Throws LogicError for a probability outside [0, 1].
  void set(const Failures& failures) const;
  std::uint64_t attempts() const;  ///< allocations, the failed ones too
  std::uint64_t failed() const;    ///< those that this adaptor made fail

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quarry
