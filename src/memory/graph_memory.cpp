// SPDX-License-Identifier: BSD-3-Clause
#include "memory/graph_memory.hpp"

#include <quarry/base/captures.hpp>
#include <quarry/base/error.hpp>
#include <quarry/memory/graph_memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/stream_state.hpp"

namespace quarry {
namespace detail {
namespace {

/// Of every stream's `graph_memory`, and of what it points to.
std::mutex& captures_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

GraphMemoryState::GraphMemoryState(const Stream& captured) : stream(captured) {
  StreamState& state = captured.state();
  const std::lock_guard lock(captures_mutex());
  require<LogicError>(!state.is_captured(), [&] {
    return fmt::format("the work of stream {:#x} is being captured already", captured.handle());
  });
  state.graph_memory = this;
  captured_streams.fetch_add(1);
}

void GraphMemoryState::end() noexcept {
  std::optional<Stream> released;  // without the lock
  const std::lock_guard lock(captures_mutex());
  stream.swap(released);
  if (!released) return;
  released->state().graph_memory = nullptr;
  captured_streams.fetch_sub(1);
}

std::vector<Stream> GraphMemoryState::homes_of_captures() const {
  std::vector<Stream> homes;
  for (const std::shared_ptr<Buffer>& buffer : kept) {
    const Stream& home = buffer->stream();
    const bool is_alive = buffer->bytes() == 0;  // nothing was handed over to it
    if (!is_alive || !home.state().is_of_capture) continue;
    if (std::ranges::find(homes, home) == homes.end()) homes.push_back(home);
  }
  return homes;
}

void keep_for_graph(const StreamState& stream, const std::shared_ptr<Buffer>& kept) {
  const std::lock_guard lock(captures_mutex());
  if (GraphMemoryState* const memory = stream.graph_memory) memory->kept.insert(kept);
}

void LeftByGraph::add(std::unique_ptr<LaunchCheck> check) {
  const std::lock_guard lock(mutex_);
  checks_.push_back(std::move(check));
}

bool LeftByGraph::has_checks() const {
  const std::lock_guard lock(mutex_);
  return !checks_.empty();
}

void LeftByGraph::rethrow() {
  const std::lock_guard lock(mutex_);
  for (const auto& check : checks_) check->rethrow();
  if (found_.empty()) return;
  const std::exception_ptr first = found_.front();
  found_.erase(found_.begin());
  std::rethrow_exception(first);
}

bool LeftByGraph::is_settled() const noexcept {
  const std::lock_guard lock(mutex_);
  return is_over_ && found_.empty();
}

void LeftByGraph::settle() noexcept {
  std::vector<std::unique_ptr<LaunchCheck>> ended;  // without the lock
  const std::lock_guard lock(mutex_);
  for (const auto& check : checks_) {
    try {
      check->rethrow();
    } catch (...) {
      found_.push_back(std::current_exception());
    }
  }
  ended.swap(checks_);
  is_over_ = true;
}

namespace {

/// Of the graph that is captured in the stream. The mutex is held.
LeftByGraph& left_of(const StreamState& stream) {
  GraphMemoryState* const memory = stream.graph_memory;
  require<LogicError>(
      memory && memory->left,
      "whether a position is outside cannot be captured into a graph that the "
      "program launches itself: take IndexMode::wrap or clip, or quarry::capture()");
  return *memory->left;
}

}  // namespace

void require_checked_launches(const StreamState& stream) {
  const std::lock_guard lock(captures_mutex());
  left_of(stream);
}

void check_launches(const StreamState& stream, std::unique_ptr<LaunchCheck> check) {
  const std::lock_guard lock(captures_mutex());
  left_of(stream).add(std::move(check));
}

void require_kept_if_captured(const StreamState& stream,
                              const std::shared_ptr<Buffer>& page_locked) {
  const bool is_kept = page_locked && page_locked->holds_memory();
  require<LogicError>(is_kept || !stream.is_captured(),
                      "a copy between host and device can be captured into a graph only if the "
                      "host memory is page-locked memory of the library, which the graph keeps");
}

}  // namespace detail

GraphMemory::GraphMemory(const Stream& stream) {
  require<LogicError>(!stream.device().is_cpu(),
                      "GraphMemory: the CPU device has no graphs to capture");
  state_ = std::make_shared<detail::GraphMemoryState>(stream);
}

void GraphMemory::end() noexcept {
  if (state_) state_->end();
}

}  // namespace quarry
