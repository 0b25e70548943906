// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/cuda/driver/context.hpp"

namespace quarry::backend::cuda {

/// Addresses from `begin` to `end`, without it.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};

/// The bytes of an operand's elements of `itemsize` bytes along the first `rank` axes of `shape`.
AddressRange range_of(const Operand& operand, const Shape& shape, std::size_t rank,
                      std::uint32_t itemsize);

/// What those kernels of a stream write that may still be running when the thread's next one
/// begins: a kernel that is launched before the work ahead of it is done may read everything else.
/// Known only while the thread queues one kernel after another in the same stream, and nobody asks
/// anything else of the device.
class RunningWrites {
 public:
  static RunningWrites& of_thread();

  /// Before the next kernels in `stream`, for which the device is used the `use`-th time: if the
  /// time before was not that of the thread's last kernels, what is written is not known.
  void go_on(const Context& context, Stream stream, std::uint64_t use);

  bool are_known() const { return known_; }
  /// Whether the cache lines of `range` have something that is written; they are known.
  bool overlap(const AddressRange& range) const;

  /// None; all work before the kernels that are noted from now on is done when those behind them
  /// begin.
  void begin_anew() { known_ = true, count_ = 0; }
  void add(const AddressRange& range);
  void forget() { known_ = false; }

 private:
  const Context* context_ = nullptr;
  Stream stream_ = nullptr;
  std::uint64_t use_ = 0;  ///< of the context, for the last kernels
  bool known_ = false;
  std::size_t count_ = 0;
  std::array<AddressRange, 12> written_;
};

}  // namespace quarry::backend::cuda
