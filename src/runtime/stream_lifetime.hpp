// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <optional>

#include "runtime/stream_state.hpp"

/// The lifetime of streams. A Stream counts as a user of its state; a record that a stream has
/// used something (of a buffer) holds only the state. After its last user the stream is retired:
/// it takes no more work, and is destroyed when its work is done, or at once if no record holds
/// it.
namespace quarry::detail {

/// A stream of a new state, whose `native` is set.
Stream make_stream(std::shared_ptr<StreamState> state);

/// A new stream of the device.
Stream created_stream(backend::Device& device, backend::StreamOrder order, int priority = 0);

/// A handle of the stream while it has not ended; a retired one is brought back. Throws
/// std::bad_alloc.
std::optional<Stream> handle_of(const std::shared_ptr<StreamState>& state);

/// The one state of a stream that another library made, while it has users. With what ends it:
/// throws LogicError where there is such a state already.
Stream external_stream_of(backend::Device& device, backend::Stream native,
                          Callable<void()> finalizer = {});

/// Destroys retired streams whose work is done. Checks a bounded number of busy ones.
void end_retired_streams() noexcept;

}  // namespace quarry::detail
