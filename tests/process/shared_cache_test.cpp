// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "backend/chosen_device.hpp"
#include "process/child.hpp"

/// The kernel cache on disk as processes share it.
namespace quarry::test {
namespace {

namespace fs = std::filesystem;

class SharedCache : public testing::Test {
 protected:
  void SetUp() override {
    if (backend::test::is_on_cpu()) GTEST_SKIP() << "the CPU device compiles nothing";
    std::string name = (fs::temp_directory_path() / "quarry_shared_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  std::string path() const { return (root_ / "cache").string(); }

  static Outcome run_with(const std::string& directory) {
    return run_command(command_of("SaysHowItGoes"), {{"QUARRY_TEST_CACHE", directory}});
  }

  fs::path root_;
};

TEST_F(SharedCache, ASecondProcessCompilesNothing) {
  const Outcome first = run_with(path()), second = run_with(path());
  EXPECT_NE(first.output.find("kernels: 1 compiled, 0 from disk"), first.output.npos)
      << first.output;
  EXPECT_NE(second.output.find("kernels: 0 compiled, 1 from disk"), second.output.npos)
      << second.output;
}

TEST_F(SharedCache, ProcessesThatStartAtOnceAllComputeAndLeaveOneFile) {
  std::vector<Outcome> outcomes(6);
  std::vector<std::thread> threads;
  for (Outcome& outcome : outcomes) {
    threads.emplace_back([&] { outcome = run_with(path()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Outcome& outcome : outcomes) {
    EXPECT_NE(outcome.output.find("outcome: right"), outcome.output.npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("not kept"), outcome.output.npos) << outcome.output;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path()), fs::directory_iterator()), 1);
}

TEST_F(SharedCache, PlacesThatCannotBeUsedCostAWarningAndNoResult) {
  for (const std::string& place :
       {std::string("/dev/null"), std::string("/dev/null/cache"), std::string("/proc/quarry"),
        std::string("relative"), std::string("%s%n{}"), std::string("\xff\xfe"),
        '/' + std::string(300, 'n'), '/' + std::string(10'000, 'n')}) {
    const Outcome outcome = run_with(place);
    EXPECT_EQ(outcome.ending, Ending{}) << place << to_string(outcome.ending);
    EXPECT_NE(outcome.output.find("outcome: right"), outcome.output.npos) << outcome.output;
    const auto warning = outcome.output.find("compiled kernels are not kept on disk: ");
    ASSERT_NE(warning, outcome.output.npos) << place << ": " << outcome.output;
    EXPECT_EQ(outcome.output.find("not kept", warning + 30), outcome.output.npos) << outcome.output;
    EXPECT_NE(outcome.output.find(place, warning), outcome.output.npos) << outcome.output;
  }
}

}  // namespace
}  // namespace quarry::test
