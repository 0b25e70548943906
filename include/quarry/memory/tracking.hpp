// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/memory/adaptor.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace quarry {

/// A call stack, the innermost call first; empty if none was recorded.
struct CallStack {
  std::vector<void*> addresses;  ///< return addresses

  static CallStack here();                          ///< that led to this call
  bool empty() const { return addresses.empty(); }  ///< whether nothing was recorded
};
/// One call a line: its function if the program exports it (link with -rdynamic), the file, the
/// address in it.
std::string to_string(const CallStack& stack);

/// An allocation that has not been freed.
struct TrackedAllocation {
  std::uint64_t number = 0;   ///< 1 is the adaptor's first
  void* memory = nullptr;     ///< the block
  std::size_t bytes = 0;      ///< as asked for
  std::size_t alignment = 0;  ///< as asked for
  std::uintptr_t stream = 0;  ///< Stream::handle()
  CallStack stack;            ///< of the allocation; empty without stacks
};
/// "#3: 1024 bytes at 0x7f00 of stream 0x0", and its stack.
std::string to_string(const TrackedAllocation& allocation);

/// A deallocation that matches no allocation, or has a wrong size or alignment.
struct TrackingError {
  std::string message;     ///< what is wrong, with the values
  void* memory = nullptr;  ///< that was freed
  CallStack stack;         ///< of the deallocation
};

/// Records every allocation until it is freed. A free of unknown memory is not passed on; one with
/// a wrong size is passed on with the right size.
class Tracking : public detail::Adaptor<Tracking> {
 public:
  static constexpr const char* kind = "tracking";  ///< begins name()
  /// With stacks each call costs some microseconds.
  explicit Tracking(Resource upstream, bool with_stacks = false);

  /// Throws LogicError if the upstream returns memory that is still allocated.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on if the block is known; else an error is recorded.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  void set_stacks(bool on) const;  ///< for allocations from now on
  /// In the order in which they were made.
  std::vector<TrackedAllocation> outstanding() const;
  std::size_t outstanding_bytes() const;  ///< of all of them
  /// Oldest first.
  std::vector<TrackingError> errors() const;
  /// Called at each error from now on, where the memory is freed; what it throws is ignored.
  void on_error(detail::Callable<void(const TrackingError&)> handler) const;
  /// Everything that is outstanding, and the errors.
  void report(std::ostream& out) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quarry
