// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/statistics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace quarry {

std::string to_string(const AllocationStatistics& s) {
  const auto text = [](const Tally& t) {
    return fmt::format("{} current, {} peak, {} total", t.current, t.peak, t.total);
  };
  return fmt::format("bytes: {}; allocations: {}; {} failed", text(s.bytes), text(s.allocations),
                     s.failed);
}

namespace {

void add(Tally& tally, std::int64_t amount) {
  tally.current += amount;
  tally.total += amount;
  tally.peak = std::max(tally.peak, tally.current);
}

void add(AllocationStatistics& s, std::int64_t bytes) {
  add(s.bytes, bytes);
  add(s.allocations, 1);
}

void remove(AllocationStatistics& s, std::int64_t bytes) {
  s.bytes.current -= bytes;
  --s.allocations.current;
}

}  // namespace

struct Statistics::State {
  template <class F>
  void update(F&& f) {
    const std::lock_guard lock(mutex);
    f(all);
    for (AllocationStatistics* const scope : scopes) f(*scope);
  }
  AllocationStatistics read(const AllocationStatistics& s) {
    const std::lock_guard lock(mutex);
    return s;
  }

  std::mutex mutex;
  AllocationStatistics all;
  std::vector<AllocationStatistics*> scopes;
};

Statistics::Statistics(Resource upstream)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>()) {}

void* Statistics::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  void* memory = nullptr;
  try {
    memory = upstream().allocate(stream, bytes, alignment);
  } catch (...) {
    state_->update([](AllocationStatistics& s) { ++s.failed; });
    throw;
  }
  state_->update([&](AllocationStatistics& s) { add(s, static_cast<std::int64_t>(bytes)); });
  return memory;
}

void Statistics::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                            std::size_t bytes, std::size_t alignment) const noexcept {
  state_->update([&](AllocationStatistics& s) { remove(s, static_cast<std::int64_t>(bytes)); });
  upstream().deallocate(stream, others, memory, bytes, alignment);
}

AllocationStatistics Statistics::statistics() const { return state_->read(state_->all); }

Statistics::Scope Statistics::scope() const { return Scope(state_); }

Statistics::Scope::Scope(std::shared_ptr<State> state) : state_(std::move(state)) {
  const std::lock_guard lock(state_->mutex);
  state_->scopes.push_back(&counted_);
}
Statistics::Scope::~Scope() {
  const std::lock_guard lock(state_->mutex);
  std::erase(state_->scopes, &counted_);
}
AllocationStatistics Statistics::Scope::statistics() const { return state_->read(counted_); }

}  // namespace quarry
