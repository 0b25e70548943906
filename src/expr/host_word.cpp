// SPDX-License-Identifier: BSD-3-Clause
#include "expr/host_word.hpp"

#include "memory/host/polled_line.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {
namespace {

constexpr std::int64_t none = -1;  // before the number is there

DeviceNDArray<std::int64_t> new_word(const Stream& stream) {
  auto buffer = memory::new_polled_line(stream);
  std::byte* const data = buffer->address();
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
  memory::set_polled(host_address(array_), none);
}

HostWord::~HostWord() {
  if (memory::polled(host_address(array_)) == none) memory::wait_quietly(array_.stream());
}

std::int64_t HostWord::wait() const {
  const std::int64_t* const word = host_address(array_);
  const Stream& stream = array_.stream();
  memory::wait_for_line(
      stream, [=] { return memory::polled(word) != none; }, [&] { stream.synchronize(); });
  return memory::polled(word);
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
