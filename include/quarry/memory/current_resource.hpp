// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

namespace quarry {

/// The resource that the calling thread's new arrays on `device` come from: the innermost
/// ResourceGuard's on that device, else what set_current_resource said, else the device's pool.
Resource current_resource(const Device& device = {});
/// For all threads, from now on; arrays that are there keep theirs. Returns the one before. Throws
/// LogicError if kernels of its device cannot use its memory.
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
