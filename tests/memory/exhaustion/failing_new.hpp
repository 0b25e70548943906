// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

/// The operator new of this program, which fails where a test tells it to; otherwise it is malloc.
namespace quarry::test {

/// Which allocations of the calling thread fail, counted from now on: the `nth` alone (1 is the
/// next), or all from it on.
enum class Failing { once, for_good };

/// For the scope, which must end on the thread that it began on. Scopes do not nest.
class FailingNew {
 public:
  FailingNew(std::int64_t nth, Failing how) noexcept;
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  /// Of the latest scope of this thread.
  static std::int64_t failures() noexcept;
};

/// The same for all threads but the calling one, which are those of the library: their allocations
/// are counted together.
class FailingNewElsewhere {
 public:
  FailingNewElsewhere(std::int64_t nth, Failing how) noexcept;
  ~FailingNewElsewhere();
  FailingNewElsewhere(const FailingNewElsewhere&) = delete;
  FailingNewElsewhere& operator=(const FailingNewElsewhere&) = delete;

  static std::int64_t failures() noexcept;
};

/// Nothing fails on this thread, and nothing is counted, in the scope.
class SparedNew {
 public:
  SparedNew() noexcept;
  ~SparedNew();
  SparedNew(const SparedNew&) = delete;
  SparedNew& operator=(const SparedNew&) = delete;
};

}  // namespace quarry::test
