// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/failing.hpp>

#include <fmt/format.h>

#include <mutex>

namespace quarry {
namespace {

/// In [0, 1), depends only on n: the order of threads does not matter.
double draw(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t x = seed + n * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53;
}

bool is_hit(const Failures& f, std::uint64_t attempt) {
  const bool by_number = f.nth != 0 && (f.and_later ? attempt >= f.nth : attempt == f.nth);
  return by_number || draw(f.seed, attempt) < f.probability;
}

void require_sound(const Failures& f) {
  require<LogicError>(f.probability >= 0 && f.probability <= 1, [&] {
    return fmt::format("Failing: {} is not a probability", f.probability);
  });
}

}  // namespace

struct Failing::State {
  bool next_fails() {
    const std::lock_guard lock(mutex);
    const bool fails = is_hit(failures, ++attempts);
    if (fails) ++failed;
    return fails;
  }

  mutable std::mutex mutex;
  Failures failures;
  std::uint64_t attempts = 0, failed = 0;
};

Failing::Failing(Resource upstream, const Failures& failures)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>()) {
  set(failures);
}

void* Failing::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  if (state_->next_fails()) {
    throw MemoryError(fmt::format("{} on {}, on purpose", name(), to_string(device())),
                      {.requested = bytes});
  }
  return upstream().allocate(stream, bytes, alignment);
}

void Failing::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                         std::size_t bytes, std::size_t alignment) const noexcept {
  upstream().deallocate(stream, others, memory, bytes, alignment);
}

void Failing::set(const Failures& failures) const {
  require_sound(failures);
  const std::lock_guard lock(state_->mutex);
  state_->failures = failures;
  state_->attempts = state_->failed = 0;
}

std::uint64_t Failing::attempts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->attempts;
}

std::uint64_t Failing::failed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failed;
}

}  // namespace quarry
