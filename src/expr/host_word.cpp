// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include <chrono>
#include <map>
#include <mutex>

#include "expr/host_word.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {
namespace {

constexpr std::size_t line = 256;  // bytes of its memory
constexpr std::int64_t none = -1;  // before the number is there

const Resource& words_of(const Stream& stream) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<backend::Device*, Resource>;
  const std::lock_guard lock(mutex);
  backend::Device* const device = stream.state().device;
  const auto known = pools.find(device);
  if (known != pools.end()) return known->second;
  return pools.emplace(device, Pool(mapped_resource(stream.device()))).first->second;
}

DeviceNDArray<std::int64_t> new_word(const Stream& stream) {
  auto buffer = Buffer::allocate(line, stream, words_of(stream));
  std::byte* const data = buffer->data();
  return DeviceNDArray<std::int64_t>(Layout{}, data, std::move(buffer)).bind(stream);
}

std::int64_t* host_address(const DeviceNDArray<std::int64_t>& word) {
  return reinterpret_cast<std::int64_t*>(word.buffer()->host_data());
}

}  // namespace

HostWord::HostWord(const Stream& stream) {
  require<LogicError>(!stream.state().is_captured(),
                      "a number that the host waits for cannot be captured into a graph: how many "
                      "elements a mask selects; give a size, select(a, mask, {.size = n})");
  array_ = new_word(stream);
  clear();
}

// A kernel writes the word, too, and the host waits for no more than that: ThreadSanitizer, which
// takes the kernels of the fake driver for threads, does not see what orders them.
__attribute__((no_sanitize("thread"))) void HostWord::clear() const {
  __atomic_store_n(host_address(array_), none, __ATOMIC_RELEASE);
}
__attribute__((no_sanitize("thread"))) std::int64_t HostWord::now() const {
  return __atomic_load_n(host_address(array_), __ATOMIC_ACQUIRE);
}

/// Whether it comes while it takes less time to look than to wait for the stream.
bool HostWord::arrives() const {
  if (array_.device().is_cpu()) return false;
  constexpr std::chrono::microseconds most{200};
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (now() != none) return true;
    }
  } while (std::chrono::steady_clock::now() - begin < most);
  return false;
}

std::int64_t HostWord::wait() const {
  if (!arrives()) array_.stream().synchronize();
  return now();
}

/// The memory is of the default stream: that of the capture belongs to its graph alone, and a word
/// makes no order among streams.
GraphWord::GraphWord(const Stream& captured)
    : array_(new_word(default_stream(captured.device())).bind(captured)) {
  take();
}

__attribute__((no_sanitize("thread"))) std::int64_t GraphWord::take() const {
  return __atomic_exchange_n(host_address(array_), 0, __ATOMIC_ACQ_REL);
}

}  // namespace quarry::expr
