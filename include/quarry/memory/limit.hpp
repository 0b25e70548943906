// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

#include <memory>

namespace quarry {

/// Limits the allocated bytes to `limit`. Concurrent allocations are refused only if they would
/// exceed it.
class Limit : public detail::Adaptor<Limit> {
 public:
  static constexpr const char* kind = "limit";  ///< begins name()
  /// `limit` is in bytes.
  Limit(Resource upstream, std::size_t limit);

  /// Throws MemoryError; its report has the bytes requested, allocated (live) and the limit.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on; makes room for other allocations.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  std::size_t outstanding() const;  ///< bytes that are allocated
  std::size_t limit() const;        ///< in bytes
  /// Throws LogicError, and keeps the old limit, if more than `bytes` are allocated.
  void set_limit(std::size_t bytes) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quarry
