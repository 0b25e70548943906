// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry {

/// Who may access managed memory: every stream of every device; only the host, until another
/// attach; the host and one stream.
enum class Attach { global, host, single };

/// Advice on the use of pages: cuMemAdvise.
enum class Advice {
  set_read_mostly,
  unset_read_mostly,
  set_preferred_location,
  unset_preferred_location,
  set_accessed_by,
  unset_accessed_by
};

}  // namespace quarry
