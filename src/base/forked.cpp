// SPDX-License-Identifier: BSD-3-Clause
#include "base/forked.hpp"

#include <pthread.h>

#include <quarry/base/error.hpp>

namespace quarry {
namespace {

// Of pthreads, because a forked process may unlock what its thread locked before.
pthread_rwlock_t forks = PTHREAD_RWLOCK_INITIALIZER;

void wait_for_others() { pthread_rwlock_wrlock(&forks); }
void go_on() { pthread_rwlock_unlock(&forks); }
void go_on_forked() {
  detail::forked.store(true, std::memory_order_relaxed);
  pthread_rwlock_unlock(&forks);
}

}  // namespace

NoForks::NoForks() noexcept { pthread_rwlock_rdlock(&forks); }
NoForks::~NoForks() { pthread_rwlock_unlock(&forks); }

void detail::refuse_forked() {
  throw LogicError(
      "this process was forked from one that had used Quarry already: its devices, streams and "
      "arrays belong to the parent; fork before the first use, or call exec in the child");
}

void watch_forks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(wait_for_others, go_on, go_on_forked);
}

}  // namespace quarry
