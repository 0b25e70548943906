// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

/// The resources that call the driver (or the system, on the CPU device) for every allocation.
/// Pools and adaptors stand on them. `allocate` throws MemoryError with what was asked for and what
/// is free; memory is aligned to 256 bytes at least; a larger alignment than the driver gives
/// throws LogicError.
namespace quarry {

/// How page-locked memory is made.
struct HostMemoryOptions {
  bool portable = false;        ///< page-locked for every GPU
  bool write_combined = false;  ///< uncached: fast to write in order, very slow to read
};

/// cuMemAlloc; freeing waits for the device. On the CPU device aligned memory of the program.
Resource device_resource(const Device& device = {});
/// A stream-ordered pool of the driver (cuMemAllocFromPoolAsync) that is Quarry's own and keeps all
/// its memory; the device's current pool is not touched. Throws LogicError where the driver has
/// none.
Resource driver_pool_resource(const Device& device = {});
/// Page-locked host memory, for copies at the speed of the link.
Resource pinned_resource(const Device& device = {}, const HostMemoryOptions& options = {});
/// Page-locked host memory that kernels of the device can use, over the link.
Resource mapped_resource(const Device& device = {}, const HostMemoryOptions& options = {});
/// Memory whose pages move to where they are used.
Resource managed_resource(const Device& device = {}, bool attach_global = true);
/// Pageable host memory, aligned.
Resource host_resource();

}  // namespace quarry
