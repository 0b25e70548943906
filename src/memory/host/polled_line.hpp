// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/runtime/stream.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

#include "memory/resource/stream_order.hpp"

/// Page-locked memory in which kernels leave a few bytes for the host: these need no copy engine,
/// and the host has them before the kernel ends.
namespace quarry::memory {

/// 256 bytes that the device and the host see. They may be freed only when no kernel that is
/// queued writes them: the next owner, the host, writes at once, in the order of no stream.
std::shared_ptr<Buffer> new_polled_line(const Stream& stream);

/// Whether `has_arrived` becomes true while it takes less time to look than to wait for a stream.
template <class F>
bool arrives(const F& has_arrived) {
  constexpr std::chrono::microseconds most{200};
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (has_arrived()) return true;
    }
  } while (std::chrono::steady_clock::now() - begin < most);
  return false;
}

/// Whether the host may go on looking: not in a context whose waits are to leave the processor to
/// others.
bool may_go_on_looking(const Stream& stream);

/// Waits for what a kernel in the stream leaves in a line: until it is there, or as `wait` does,
/// which waits for the stream and for all that is queued behind the kernel. The host looks for some
/// milliseconds of work before the kernel; of more, what a wait for the stream takes is nothing. If
/// waiting throws, the kernel writes nothing any more: the line is somebody else's next.
template <class F, class Wait>
void wait_for_line(const Stream& stream, const F& has_arrived, const Wait& wait) {
  constexpr int most_looks = 25;
  const bool is_gpu = !stream.device().is_cpu();
  if (is_gpu && arrives(has_arrived)) return;
  try {
    if (is_gpu && may_go_on_looking(stream)) {
      for (int i = 1; i < most_looks && !stream.is_done(); ++i) {  // the kernel may have failed
        if (arrives(has_arrived)) return;
      }
    }
    wait();
  } catch (...) {
    wait_quietly(stream);
    throw;
  }
}

/// What is in the place of an element that is not there yet.
inline constexpr std::uint64_t no_element = 0x8f3ad1c25be69470;

// A kernel writes these words, too, and the host waits for no more than that: ThreadSanitizer,
// which takes the kernels of the fake driver for threads, does not see what orders them.
template <class Word>
__attribute__((no_sanitize("thread"))) Word polled(const Word* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
template <class Word>
__attribute__((no_sanitize("thread"))) void set_polled(Word* at, Word value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

}  // namespace quarry::memory
