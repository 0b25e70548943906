// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "backend/chosen_device.hpp"
#include "process/child.hpp"
#include "temporary_folder.hpp"

/// The kernel cache on disk as processes share it.
namespace quarry::test {
namespace {

namespace fs = std::filesystem;

class SharedCache : public testing::Test {
 protected:
  void SetUp() override {
    if (backend::test::is_on_cpu()) GTEST_SKIP() << "the CPU device compiles nothing";
  }
  std::string path() const { return (root_ / "cache").string(); }

  static Outcome run_with(const std::string& directory) {
    return run_command(command_of("SaysHowItGoes"), {{"QUARRY_TEST_CACHE", directory}});
  }

  const test::TemporaryFolder temporary_;
  const fs::path& root_ = temporary_.path();
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

/// Of compiled sources: NVRTC is needed, a GPU is not.
class SharedSources : public SharedCache {
 protected:
  void SetUp() override {}
  /// Killed after so many milliseconds, if any.
  Outcome compile_many(int milliseconds = 0) const {
    std::vector<std::string> command = command_of("CompilesMany");
    if (milliseconds > 0 && fs::exists("/usr/bin/timeout")) {
      const std::vector<std::string> killer{"/usr/bin/timeout", "--signal=KILL",
                                            "0." + std::to_string(1000 + milliseconds).substr(1)};
      command.insert(command.begin(), killer.begin(), killer.end());
    }
    return run_command(command, {{"QUARRY_TEST_CACHE", path()}});
  }
};

TEST_F(SharedSources, OfManyProcessesAreRightThoughSomeAreKilled) {
  for (int round = 0; round < 2; ++round) {
    std::vector<Outcome> outcomes(16);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const int life = i % 4 == 3 ? 20 + 15 * static_cast<int>(i) + 7 * round : 0;
      threads.emplace_back([&, i, life] { outcomes[i] = compile_many(life); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].output.find("no NVRTC") != std::string::npos) GTEST_SKIP() << "no NVRTC";
      EXPECT_EQ(outcomes[i].output.find("wrong"), std::string::npos) << outcomes[i].output;
      EXPECT_EQ(outcomes[i].output.find("not kept"), std::string::npos) << outcomes[i].output;
      if (i % 4 != 3) {
        EXPECT_NE(outcomes[i].output.find("right"), std::string::npos) << outcomes[i].output;
      }
    }
    const Outcome last = compile_many();
    EXPECT_NE(last.output.find("right"), std::string::npos) << last.output;
    std::int64_t kernels = 0;
    for (const auto& file : fs::directory_iterator(path())) {
      kernels += file.path().extension() == ".kernel" ? 1 : 0;
    }
    EXPECT_EQ(kernels, 20) << "one file for each source";
    fs::remove_all(path());
  }
}

TEST_F(SharedSources, ThatAreDamagedAreCompiledAgain) {
  if (compile_many().output.find("no NVRTC") != std::string::npos) GTEST_SKIP() << "no NVRTC";
  int k = 0;
  for (const auto& file : fs::directory_iterator(path())) {
    const auto bytes = fs::file_size(file);
    if (k % 3 == 0) fs::resize_file(file, bytes / 2);
    if (k % 3 == 1) std::ofstream(file.path(), std::ios::binary) << std::string(bytes, 'x');
    if (k % 3 == 2) fs::resize_file(file, 0);
    ++k;
  }
  EXPECT_EQ(k, 20);
  const Outcome again = compile_many();
  EXPECT_NE(again.output.find("right"), std::string::npos) << again.output;
}

TEST(Clusters, NeedAGpuOfComputeCapability9) {
  const char* const kind = ::getenv("QUARRY_TEST_DEVICE");
  if (!kind || std::string(kind) != "fake") GTEST_SKIP() << "wants a GPU that is older";
  const Outcome outcome = run_command(command_of("LaunchesACluster"), {{"QUARRY_FAKE_CC", "86"}});
  EXPECT_EQ(outcome.output,
            "the kernel idle: clusters of blocks need a GPU of compute capability 9.0, this one "
            "has 8.6\n");
}

}  // namespace
}  // namespace quarry::test
