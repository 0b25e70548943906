// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

/// The resources that call the driver (or the system, on the CPU device) for every allocation;
/// upstreams of pools and adaptors. `allocate` throws MemoryError with the bytes requested and
/// free; memory is aligned to 256 bytes at least; an alignment that the driver does not support
/// throws LogicError.
namespace quarry {

/// How page-locked memory is made.
struct HostMemoryOptions {
  bool portable = false;        ///< page-locked for every GPU
  bool write_combined = false;  ///< uncached: fast to write in order, very slow to read
  bool mapped = false;          ///< kernels of the device can use it too, over the link
};

/// cuMemAlloc; freeing waits for the device. On the CPU device aligned memory of the program.
Resource device_resource(const Device& device = {});
/// A stream-ordered pool of the driver (cuMemAllocFromPoolAsync) that only Quarry uses and that
/// keeps all its memory; the device's current pool is not used. Throws LogicError if the driver
/// does not support pools.
Resource driver_pool_resource(const Device& device = {});
/// Page-locked host memory, for copies at the speed of the link.
Resource pinned_resource(const Device& device = {}, const HostMemoryOptions& options = {});
/// Page-locked host memory that kernels of the device can access, over the link.
Resource mapped_resource(const Device& device = {}, const HostMemoryOptions& options = {});
/// Managed memory, whose pages migrate to the processor that uses them.
Resource managed_resource(const Device& device = {}, bool attach_global = true);
/// Pageable host memory, aligned.
Resource host_resource();

}  // namespace quarry
