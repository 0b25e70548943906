// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "process/child.hpp"

/// The functions of this program that lock are those that the library calls.
namespace quarry::test {
namespace {

constexpr int took_a_lock = 7;
constinit std::atomic<bool> refused = false;

}  // namespace

NoLocks::NoLocks() { refused = true; }
NoLocks::~NoLocks() { refused = false; }

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
namespace {

void check(const char* name) {
  if (!refused.exchange(false)) return;
  report_stack(name);
  _exit(took_a_lock);
}

template <class Lock>
auto next(const char* name) {
  return reinterpret_cast<int (*)(Lock*)>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto lock = next<pthread_mutex_t>(__func__);
  check(__func__);
  return lock(mutex);
}
extern "C" int pthread_rwlock_rdlock(pthread_rwlock_t* mutex) noexcept {
  static const auto lock = next<pthread_rwlock_t>(__func__);
  check(__func__);
  return lock(mutex);
}
extern "C" int pthread_rwlock_wrlock(pthread_rwlock_t* mutex) noexcept {
  static const auto lock = next<pthread_rwlock_t>(__func__);
  check(__func__);
  return lock(mutex);
}
#endif

}  // namespace quarry::test
