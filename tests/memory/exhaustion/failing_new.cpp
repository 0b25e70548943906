// SPDX-License-Identifier: BSD-3-Clause
#include "memory/exhaustion/failing_new.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace quarry::test {
namespace {

struct Plan {
  std::int64_t left = 0;  ///< allocations up to the next that fails; 0: none will
  std::int64_t failures = 0;
  int spared = 0;
  bool for_good = false;
};
thread_local constinit Plan plan;

/// Of the threads of the library.
struct Elsewhere {
  std::atomic<const Plan*> program = nullptr;  ///< the plan of the thread that is left out
  std::atomic<std::int64_t> left = 0, failures = 0;
  std::atomic<bool> for_good = false;
};
constinit Elsewhere elsewhere;

bool fails_elsewhere() noexcept {
  const Plan* const program = elsewhere.program.load(std::memory_order_acquire);
  if (!program || program == &plan || plan.spared > 0) [[likely]]
    return false;
  const std::int64_t left = elsewhere.left.fetch_sub(1);
  if (left > 1 || (left < 1 && !elsewhere.for_good)) return false;
  elsewhere.failures.fetch_add(1);
  return true;
}

bool fails() noexcept {
  if (fails_elsewhere()) return true;
  if (plan.left == 0 || plan.spared > 0) [[likely]]
    return false;
  if (plan.left > 1) {
    --plan.left;
    return false;
  }
  ++plan.failures;
  if (!plan.for_good) plan.left = 0;
  return true;
}

/// From malloc's family, which every sanitizer knows; nullptr when it fails.
void* take(std::size_t bytes) noexcept {
  return fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
}
void* take(std::size_t bytes, std::align_val_t alignment) noexcept {
  if (fails()) return nullptr;
  void* memory = nullptr;
  const std::size_t least = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  return posix_memalign(&memory, least, std::max<std::size_t>(bytes, 1)) == 0 ? memory : nullptr;
}

template <class... A>
void* take_or_throw(A... arguments) {
  void* const memory = take(arguments...);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingNew::FailingNew(std::int64_t nth, Failing how) noexcept {
  plan.left = nth;
  plan.failures = 0;
  plan.for_good = how == Failing::for_good;
}
FailingNew::~FailingNew() { plan.left = 0; }
std::int64_t FailingNew::failures() noexcept { return plan.failures; }

FailingNewElsewhere::FailingNewElsewhere(std::int64_t nth, Failing how) noexcept {
  elsewhere.left = nth;
  elsewhere.failures = 0;
  elsewhere.for_good = how == Failing::for_good;
  elsewhere.program.store(&plan, std::memory_order_release);
}
FailingNewElsewhere::~FailingNewElsewhere() { elsewhere.program = nullptr; }
std::int64_t FailingNewElsewhere::failures() noexcept { return elsewhere.failures; }

SparedNew::SparedNew() noexcept { ++plan.spared; }
SparedNew::~SparedNew() { --plan.spared; }

}  // namespace quarry::test

namespace test = quarry::test;
using std::align_val_t, std::nothrow_t, std::size_t;

void* operator new(size_t n) { return test::take_or_throw(n); }
void* operator new[](size_t n) { return test::take_or_throw(n); }
void* operator new(size_t n, align_val_t a) { return test::take_or_throw(n, a); }
void* operator new[](size_t n, align_val_t a) { return test::take_or_throw(n, a); }
void* operator new(size_t n, const nothrow_t&) noexcept { return test::take(n); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return test::take(n); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept { return test::take(n, a); }
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return test::take(n, a);
}

void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { std::free(p); }
