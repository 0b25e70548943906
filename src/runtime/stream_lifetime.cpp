// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_lifetime.hpp"

#include <exception>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "base/forked.hpp"
#include "runtime/callback.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry::detail {
namespace {

using StatePtr = std::shared_ptr<StreamState>;

/// Never destroyed: streams may end after main. `mutex` guards the number of users of every state,
/// and the members of states without users, with their native streams.
struct Streams {
  std::mutex mutex;
  std::vector<StatePtr> retired;
  std::atomic<std::size_t> retired_count = 0;
  std::size_t next = 0;  ///< of the retired ones, to be looked at
  std::map<std::pair<backend::Device*, backend::Stream>, std::weak_ptr<StreamState>> external;

  static Streams& instance() {
    static Streams* const all = new Streams;
    return *all;
  }
};

/// A lost device has no work left.
bool is_done(const StreamState& state) noexcept {
  try {
    return state.device->is_done(state.native);
  } catch (const std::exception&) {
    return true;
  }
}

/// A stream of the library that ends after the work of one that it did not make.
backend::Stream stream_behind(const StreamState& state) {
  backend::Device& device = *state.device;
  const ScopedEvent end(device);
  end.record(state.native_for_marks());
  const backend::Stream behind = device.create_stream(backend::StreamOrder::behind_events);
  try {
    device.wait(behind, end.native());
  } catch (...) {
    device.destroy_stream(behind);
    throw;
  }
  return behind;
}

void forget_external(Streams& all, const StreamState& state) {
  const auto at = all.external.find({state.device, state.native});
  if (at == all.external.end()) return;
  const auto known = at->second.lock();
  if (!known || known.get() == &state) all.external.erase(at);
}

/// The stream ends when its work is done. A stream that the library did not make may be destroyed
/// by others from now on, and other threads cannot query a per-thread stream.
void keep_until_done(Streams& all, const StatePtr& state) noexcept {
  try {
    all.retired.reserve(all.retired.size() + 1);
    if (state->kind != StreamKind::created) {
      state->native = stream_behind(*state);
      state->kind = StreamKind::created;
    }
    state->is_retired = true;
    all.retired.push_back(state);
    all.retired_count.store(all.retired.size(), std::memory_order_release);
  } catch (const std::exception&) {  // no memory to remember it
    state->device->drain();
    state->end();
  }
}

/// Called after the last user of a state.
void retire(const StatePtr& state) noexcept {
  if (is_forked()) return;
  Streams& all = Streams::instance();
  {
    const std::lock_guard lock(all.mutex);
    if (--state->users > 0) return;
    if (state->kind == StreamKind::external) forget_external(all, *state);
  }
  state->end_attachments();  // takes locks that others hold while they make streams
  detail::Callable<void()> finalizer;
  {
    const std::lock_guard lock(all.mutex);
    if (state->users > 0 || state->is_retired || state->has_ended()) return;
    finalizer = std::exchange(state->finalizer, nullptr);
    const bool is_remembered = state.use_count() > 1;
    const bool is_done_for_sure = is_remembered && state->is_of_this_thread() && is_done(*state);
    if (!is_remembered || is_done_for_sure)
      state->end();
    else
      keep_until_done(all, state);
  }
  if (finalizer) finalizer();
}

/// Shared by the handles of a stream.
struct User {
  StatePtr state;
  ~User() {
    if (!state) return;
    if (is_in_callback()) {
      call_later([this] { return [last = state] { retire(last); }; });
    } else {
      retire(state);
    }
  }
};

}  // namespace

Stream make_stream(StatePtr state) {
  const auto user = std::make_shared<User>();
  StreamState* const bare = state.get();
  state->users = 1;  // not shared with other threads yet
  user->state = std::move(state);
  return Stream(StatePtr(user, bare));
}

Stream created_stream(backend::Device& device, backend::StreamOrder order, int priority) {
  Stream made =
      make_stream(std::make_shared<StreamState>(device, nullptr, StreamKind::external, priority));
  made.state().native = device.create_stream(order, priority);
  made.state().kind = StreamKind::created;  // from here on its end destroys it
  return made;
}

std::optional<Stream> handle_of(const StatePtr& state) {
  const auto user = std::make_shared<User>();
  const std::lock_guard lock(Streams::instance().mutex);
  if (state->has_ended()) return std::nullopt;
  ++state->users;
  user->state = state;
  return Stream(StatePtr(user, state.get()));
}

Stream external_stream_of(backend::Device& device, backend::Stream native,
                          detail::Callable<void()> finalizer) {
  device.note_unordered_stream();
  Streams& all = Streams::instance();
  const auto user = std::make_shared<User>();
  auto made = std::make_shared<StreamState>(device, native, StreamKind::external);
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<StreamState>& known = all.external[{&device, native}];
  StatePtr state = known.lock();
  require<LogicError>(!state || !finalizer,
                      "external_stream: there are handles of this stream, which another finalizer, "
                      "or none, ends");
  if (!state) known = state = std::move(made);
  if (finalizer) state->finalizer = std::move(finalizer);
  ++state->users;
  user->state = state;
  return Stream(StatePtr(user, state.get()));
}

void end_retired_streams() noexcept {
  constexpr int patience = 16;
  Streams& all = Streams::instance();
  if (all.retired_count.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(all.mutex);
  int at_work = 0;
  for (std::size_t left = all.retired.size(); left > 0 && at_work < patience; --left) {
    if (all.next >= all.retired.size()) all.next = 0;
    StatePtr& state = all.retired[all.next];
    const bool is_remembered = state.use_count() > 1;
    if (state->users > 0 || (is_remembered && !is_done(*state))) {
      ++all.next;
      ++at_work;
      continue;
    }
    state->end();
    std::swap(state, all.retired.back());
    all.retired.pop_back();
  }
  all.retired_count.store(all.retired.size(), std::memory_order_release);
}

}  // namespace quarry::detail
