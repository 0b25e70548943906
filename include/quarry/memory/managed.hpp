// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <span>

/// What the driver can be told of managed memory.
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

namespace detail {
/// All of the buffer; happens in the order of `stream`.
void attach_managed(Buffer& buffer, Attach how, const Stream& stream);
void prefetch_managed(Buffer& buffer, std::span<std::byte> range, const Device& to,
                      const Stream& stream);
void advise_managed(const Buffer& buffer, std::span<std::byte> range, Advice advice,
                    const Device& about);
}  // namespace detail

}  // namespace quarry
