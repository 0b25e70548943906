// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/current_resource.hpp>

#include <optional>

#include "backend/backend.hpp"

namespace quarry {

/// The calling thread's current resource on a device, without a copy if none was chosen.
struct CurrentResource {
  explicit CurrentResource(backend::Device& device);
  const Resource& operator*() const { return *resource_; }
  /// Whether it is the default.
  bool is_standard() const { return is_standard_; }

 private:
  static const Resource* guarded(backend::Device& device);
  const Resource* resource_;
  bool is_standard_ = false;
  std::optional<Resource> copy_;
};

}  // namespace quarry
