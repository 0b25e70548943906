// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry::detail {

/// A check that is queued on a device. What it has found is known there before it is known to the
/// host: a kernel behind it in its stream can be launched at once, and writes nothing if it finds
/// that it must not.
class QueuedCheck {
 public:
  QueuedCheck() = default;
  QueuedCheck(const QueuedCheck&) = delete;
  QueuedCheck& operator=(const QueuedCheck&) = delete;
  virtual ~QueuedCheck() = default;

  /// The address, in memory of the device, of a 64-bit word that is 0 if nothing was found.
  virtual const void* word() const noexcept = 0;
  /// Waits for the check, and throws what it has found, every time it is called.
  virtual void require() const = 0;
};

}  // namespace quarry::detail
