// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/host_allocation.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

/// Ends of what is made on a device, in and out of a scope in which memory is not given back.
namespace quarry {
namespace {

TEST(End, OfWhateverIsMadeWritesNothing) {
  const std::vector<std::function<void()>> ends{
      [] { stream(); },
      [] { Event(); },
      [] { PagelockedHostAllocation(32); },
      [] { PagelockedHostAllocation(32, {.mapped = true}); },
      [] { mem_alloc(32); },
      [] { ManagedAllocation(32); },
      [] { mapped_array<int>({8}); },
      [] { managed_array<int>({8}); },
      [] { zeros<int>({8}); },
  };
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  for (const auto& each : ends) each();
  {
    const auto scope = defer_cleanup();
    for (const auto& each : ends) each();
  }
  synchronize();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Each of them twice in a row: the first end has unlocked the memory.
class LockedAgain : public testing::TestWithParam<bool> {
 protected:
  void use() {
    if (GetParam()) {
      const auto array = mapped(host_);
      array += 1;
      array.stream().synchronize();
    } else {
      const auto scope = pinned(host_);
      const auto array = to_device(host_);
      array += 1;
      array.copy_to_host(host_);
    }
    ++uses_;
  }
  void TearDown() override { EXPECT_EQ(host_, std::vector<int>(1000, uses_)); }

 private:
  std::vector<int> host_ = std::vector<int>(1000, 0);
  int uses_ = 0;
};

TEST_P(LockedAgain, AfterTheFirstEnd) { use(), use(); }

TEST_P(LockedAgain, WhileMemoryIsNotGivenBack) {
  const auto scope = defer_cleanup();
  use(), use();
}

TEST_P(LockedAgain, AfterAnExceptionThatLeftSuchAScope) {
  EXPECT_THROW(
      {
        const auto scope = defer_cleanup();
        use();
        throw std::runtime_error("leaves the scope");
      },
      std::runtime_error);
  use(), use();
}

INSTANTIATE_TEST_SUITE_P(Host, LockedAgain, testing::Bool(),
                         [](const auto& info) { return info.param ? "Mapped" : "Pinned"; });

}  // namespace
}  // namespace quarry
