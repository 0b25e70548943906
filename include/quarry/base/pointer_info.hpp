// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>
#include <cstdint>

namespace quarry {

/// What kind of memory an address lies in.
enum class PointerKind { pageable, page_locked, device, managed };

/// What the driver knows about an address, except its device.
struct AddressInfo {
  PointerKind kind = PointerKind::pageable;  ///< of the memory
  std::uintptr_t device_pointer = 0;         ///< for kernels; 0 if not accessible
  /// For the host, of page-locked and managed memory, also where its device address was asked for;
  /// 0 if not accessible, and of memory that the driver does not know.
  std::uintptr_t host_pointer = 0;
  std::uintptr_t base = 0;  ///< start of its allocation; 0 when not known
  std::size_t bytes = 0;    ///< of its allocation; 0 when not known
};

}  // namespace quarry
