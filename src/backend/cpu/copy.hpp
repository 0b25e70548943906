// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/stream.hpp"

namespace quarry::backend::cpu_backend {

/// Copies on the calling thread and the pool. Large copies are split among the threads.
void copy_now(const Copy& copy);

/// A copy in stream order. Every host pointer counts as pageable: in a created stream the bytes of
/// a small host source are taken at once, and the call waits for any other copy from or to the
/// host. A copy between device memory, or one that is captured, does not wait unless `blocking`.
void copy_in_order(Streams& streams, const Copy& copy, Stream stream, bool blocking);

void copy_pieces(Streams& streams, Direction direction, std::span<const Piece> pieces,
                 Stream stream);

/// Throws LogicError where a pitch or a height is too small for what is copied, as the driver does,
/// and for a side on a GPU.
void copy_block(Streams& streams, const BlockCopy& copy, Stream stream, bool blocking);

/// `count` repetitions of the first `size` bytes of `pattern`.
void fill_now(void* to, const std::array<std::byte, 16>& pattern, std::size_t size,
              std::int64_t count);

}  // namespace quarry::backend::cpu_backend
