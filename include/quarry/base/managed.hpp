// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry {

/// Who may touch managed memory: every stream of every device; the host alone, until it is attached
/// otherwise; the host, and one stream.
enum class Attach { global, host, single };

/// What can be said of how pages are used: cuMemAdvise.
enum class Advice {
  set_read_mostly,
  unset_read_mostly,
  set_preferred_location,
  unset_preferred_location,
  set_accessed_by,
  unset_accessed_by
};

}  // namespace quarry
