// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <utility>

#include "memory/staging_ring.hpp"

namespace quarry::memory {

/// A slot while a copy holds it: it goes back to the ring when the scope ends.
class HeldSlot {
 public:
  static std::optional<HeldSlot> of(Ring& ring, backend::Device& device, std::optional<Slot> slot) {
    if (!slot) return std::nullopt;
    return HeldSlot(ring, device, *slot);
  }
  HeldSlot(HeldSlot&& other) noexcept
      : ring_(other.ring_),
        device_(other.device_),
        slot_(std::exchange(other.slot_, {})),
        is_loose_(other.is_loose_) {}
  HeldSlot& operator=(HeldSlot&&) = delete;
  ~HeldSlot() {
    if (!slot_.memory) return;
    is_loose_ ? ring_->abandon(slot_) : ring_->release(slot_);
  }

  std::byte* memory() const { return slot_.memory; }
  /// Queues a copy from or to the slot, and records when it is done.
  void copy(const backend::Copy& copy, const Stream& stream);
  /// Until the last copy is done.
  void wait() const { device_->wait(slot_.event); }

 private:
  HeldSlot(Ring& ring, backend::Device& device, const Slot& slot)
      : ring_(&ring), device_(&device), slot_(slot) {}

  Ring* ring_;
  backend::Device* device_;
  Slot slot_;
  bool is_loose_ = false;  ///< a copy is on its way whose end nobody will know
};

}  // namespace quarry::memory
