// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <optional>

#include "runtime/stream_state.hpp"

/// When streams end. A Stream counts as a user of its state; who only remembers that a stream has
/// used something (a buffer) holds the state alone. Once the last user has gone the stream is
/// retired: it takes no more work, and it ends when its work is done, or at once if nobody
/// remembers it.
namespace quarry::detail {

/// A stream of a new state, whose `native` is set.
Stream make_stream(std::shared_ptr<StreamState> state);

/// A new stream of the device.
Stream created_stream(backend::Device& device, backend::StreamOrder order, int priority = 0);

/// A handle of the stream while it has not ended; a retired one is brought back. Throws
/// std::bad_alloc.
std::optional<Stream> handle_of(const std::shared_ptr<StreamState>& state);

/// The one state of a stream that another library made, while it has users.
Stream external_stream_of(backend::Device& device, backend::Stream native);

/// Ends retired streams whose work is done. Looks at a bounded number of those that are at work.
void end_retired_streams() noexcept;

}  // namespace quarry::detail
