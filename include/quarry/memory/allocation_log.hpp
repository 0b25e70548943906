// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

#include <filesystem>
#include <iosfwd>
#include <memory>

namespace quarry {

/// Writes a line of CSV for each call, in the order of the calls, after a line of titles:
///     Thread,Time,Action,Pointer,Size,Stream,Device,Resource
///     4711,14:05:59.123456,allocate,0x7f5c00000000,1024,0x0,cuda:0,pool of device
/// Thread is the system's number, Time is local, Action is "allocate", "allocate failure" (with
/// pointer 0x0) or "free", Size is in bytes, Stream is its handle, Resource the upstream's name.
class AllocationLog : public detail::Adaptor<AllocationLog> {
 public:
  static constexpr const char* kind = "log";  ///< begins name()
  /// Overwrites the file. Throws IoError if it cannot be written.
  AllocationLog(Resource upstream, const std::filesystem::path& file);
  /// `out` must outlive the log; do not write to it elsewhere meanwhile.
  AllocationLog(Resource upstream, std::ostream& out);

  /// Passed on, then logged. Throws what the upstream throws.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on, then logged.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;

  /// Also done by the last handle's destructor. Throws IoError if lines could not be written.
  void flush() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quarry
