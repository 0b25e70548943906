// SPDX-License-Identifier: BSD-3-Clause
#include "base/forked.hpp"

#include <pthread.h>

#include <quarry/base/error.hpp>

namespace quarry {

void detail::refuse_forked() {
  throw LogicError(
      "this process was forked from one that had used Quarry already: its devices, streams and "
      "arrays belong to the parent; fork before the first use, or call exec in the child");
}

void watch_forks() {
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { detail::forked.store(true, std::memory_order_relaxed); });
}

}  // namespace quarry
