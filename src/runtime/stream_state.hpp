// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "backend/backend.hpp"

namespace quarry::detail {

/// `per_thread` is fixed too, but its handle is a different stream in each thread: there is one
/// state per thread, and only that thread can queue in it.
enum class StreamKind : char { fixed, per_thread, created, external };

struct GraphMemoryState;
struct StreamState;

/// Data of another layer, attached to a stream.
struct Attachment {
  std::atomic<const void*> owner = nullptr;
  std::atomic<void*> data = nullptr;
  std::atomic<void (*)(void* data, StreamState& stream) noexcept> end = nullptr;
  Attachment* next = nullptr;
};

struct StreamState : std::enable_shared_from_this<StreamState> {
  StreamState(backend::Device& on, backend::Stream handle, StreamKind made_by, int urgency = 0)
      : device(&on), native(handle), kind(made_by), priority(urgency) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  backend::Device* device;
  backend::Stream native;
  StreamKind kind;
  int priority;
  const std::thread::id thread = std::this_thread::get_id();  ///< that made the state
  int users = 0;                                              ///< see stream_lifetime.hpp
  bool is_of_capture = false;       ///< made to capture a graph: the program cannot name it
  bool is_retired = false;          ///< has been without users while it was at work
  Callable<void()> finalizer = {};  ///< of an external stream: what ends it
  /// Keeps the memory that the stream uses while its work is captured, else nullptr.
  std::atomic<GraphMemoryState*> graph_memory = nullptr;

  /// Whether all work in it is done and nothing can be queued any more.
  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  void end() noexcept;  ///< with what is attached; destroys a stream that the library made
  void end_attachments() noexcept;

  /// Whether work of the calling thread goes into this stream.
  bool is_of_this_thread() const {
    return kind != StreamKind::per_thread || thread == std::this_thread::get_id();
  }
  /// Whether its work is being captured into a graph: it must not be queried or waited for, and
  /// may not wait for events of others.
  bool is_captured() const noexcept { return graph_memory.load(std::memory_order_relaxed); }
  /// Where an event is recorded that comes after all that was queued here. From another thread that
  /// is the legacy stream, which waits for the per-thread streams of all threads.
  backend::Stream native_for_marks() const {
    return is_of_this_thread() ? native : device->legacy_stream();
  }

  /// The data that `owner` has attached, or nullptr. Takes no lock.
  void* find(const void* owner) const noexcept {
    for (auto* a = attachments_.load(std::memory_order_acquire); a; a = a->next) {
      if (a->owner.load(std::memory_order_acquire) == owner) {
        return a->data.load(std::memory_order_relaxed);
      }
    }
    return nullptr;
  }
  /// Held while anything is attached, detached, or ends with its stream.
  static std::mutex& attachments_mutex();
  /// Both need that mutex held, and `end` is called with it.
  void attach(const void* owner, void* data, void (*end)(void*, StreamState&) noexcept);
  void detach(const void* owner) noexcept;

  void keep(std::exception_ptr error);  ///< from a callback; the first one is kept
  void rethrow();                       ///< throws it once

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<Attachment*> attachments_ = nullptr;  ///< never taken out while the stream lives
  std::atomic<bool> ended_ = false;
};

/// Throws LogicError, with the name of the call, if the stream's work is being captured.
void require_not_captured(const StreamState& stream, const char* call);

/// Destroys finished callbacks, with their streams, and retired streams that are done. Does nothing
/// in a callback.
void drop_finished_callbacks() noexcept;
/// Does that at the end of the scope, also when a wait ends with an error.
struct DropFinishedCallbacks {
  DropFinishedCallbacks() = default;
  ~DropFinishedCallbacks() { drop_finished_callbacks(); }
  DropFinishedCallbacks(const DropFinishedCallbacks&) = delete;
  DropFinishedCallbacks& operator=(const DropFinishedCallbacks&) = delete;
};

/// The calling thread's state of the device's per-thread default stream. It ends with the thread,
/// or with the last array bound to it; on the CPU it is the default stream.
Stream per_thread_stream(backend::Device& device);

}  // namespace quarry::detail
