// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/managed.hpp>
#include <quarry/memory/buffer.hpp>

#include <span>

/// Attachment, prefetch and advice for managed memory.
namespace quarry {

namespace detail {
/// All of the buffer; happens in the order of `stream`.
void attach_managed(Buffer& buffer, Attach how, const Stream& stream);
void prefetch_managed(Buffer& buffer, std::span<std::byte> range, const Device& to,
                      const Stream& stream);
void advise_managed(const Buffer& buffer, std::span<std::byte> range, Advice advice,
                    const Device& about);
}  // namespace detail

}  // namespace quarry
