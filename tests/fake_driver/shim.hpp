// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/cuda/driver/driver.hpp"

/// A driver table over any other that counts calls, fails chosen ones, and knows every live handle.
namespace quarry::backend::cuda {

/// The `nth` call from now on (1 is the next) of `function`, or of any function, returns `code` and
/// does not reach the driver below; a persistent failure fails the calls after it too.
struct Fault {
  CUresult code = CUDA_ERROR_UNKNOWN;
  std::optional<DriverFunction> function = std::nullopt;
  std::int64_t nth = 1;
  bool persistent = false;
};

/// What has been made through the shim and not yet destroyed. The reset of a device destroys all on
/// it.
struct LiveHandles {
  std::size_t contexts = 0, streams = 0, events = 0, modules = 0;
  std::size_t device_blocks = 0, device_bytes = 0;
  std::size_t host_blocks = 0, host_bytes = 0;
  std::size_t registrations = 0, registered_bytes = 0;
  std::size_t managed_blocks = 0, managed_bytes = 0;
  std::size_t pools = 0, pooled_blocks = 0, pooled_bytes = 0;
  std::size_t imported_blocks = 0;  ///< memory of other processes
  std::size_t arrays = 0;           ///< CUDA arrays
  std::size_t graphs = 0;           ///< with instantiated ones
  std::size_t textures = 0;         ///< and surfaces
  bool operator==(const LiveHandles&) const = default;
};

/// All calls are safe from any thread. GetErrorName and GetErrorString are counted but never fail.
namespace shim {
/// The shim's table, now over `below`, which must outlive it. There is one shim a process; a second
/// call only changes what is below.
const DriverTable& over(const DriverTable& below);

void inject(const Fault& fault);  ///< in addition to those injected before
void clear_faults();

std::int64_t calls();
std::int64_t calls(DriverFunction function);
void reset_counts();

LiveHandles live();
}  // namespace shim

}  // namespace quarry::backend::cuda
