// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

namespace quarry {

/// The resource from which the calling thread's new arrays on `device` are allocated: the innermost
/// ResourceGuard's on that device, else that of set_current_resource, else the device's pool.
Resource current_resource(const Device& device = {});
/// For all threads, from now on; existing arrays keep theirs. Returns the previous one. Throws
/// LogicError if kernels of its device cannot access its memory.
Resource set_current_resource(const Resource& resource);
/// Back to the device's pool.
void reset_current_resource(const Device& device = {});

/// Makes `resource` the thread's current one on its device for the scope. Guards may end in any
/// order, as StreamGuards.
class ResourceGuard {
 public:
  /// Throws LogicError if kernels of its device cannot use its memory.
  explicit ResourceGuard(Resource resource);
  ~ResourceGuard();
  ResourceGuard(const ResourceGuard&) = delete;
  ResourceGuard& operator=(const ResourceGuard&) = delete;

 private:
  detail::GuardEntry<Resource>* entry_;
};

}  // namespace quarry
