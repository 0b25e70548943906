// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <span>

/// Waiting for what streams have queued, on the device and on the host.
namespace quarry::memory {

/// Waits for the stream's work. What callbacks threw is left to Stream::synchronize().
void synchronize(const Stream& stream);
/// Makes `stream` wait for the work of `other`: on the device, or on the host if that is not
/// possible (the CPU and a GPU, the per-thread stream of another thread).
void join(const Stream& stream, const Stream& other);
/// Waits on the host for what has been queued in `stream`. Errors of the work are left for the
/// stream's next synchronisation.
void wait_for(const Stream& stream);
/// The same for all of them, where nothing may be thrown: when it fails, for the whole device.
void wait_quietly(const Stream& stream, std::span<const Stream> others = {}) noexcept;

}  // namespace quarry::memory
