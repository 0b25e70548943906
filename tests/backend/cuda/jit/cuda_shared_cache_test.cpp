// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/cuda/jit/kernel_file.hpp"

// One cache that several processes fill, read and empty, some of which are killed: a kernel is
// found as it was stored, or not at all.
namespace quarry::backend::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int kernels = 8;

std::string key(int i) { return "nvrtc 13.0\nsource " + std::to_string(i); }
Binary binary(int i) {
  return {std::string(3000, static_cast<char>('a' + i)), "_Z6kernel" + std::to_string(i)};
}

class cuda_shared_cache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quarry_shared_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path() const { return (root_ / "cache").string(); }
  /// It has room for half of the kernels.
  KernelCache::Options options() const {
    const auto size = static_cast<std::int64_t>(encode_kernel(key(0), binary(0)).size());
    return {.directory = path(), .capacity = kernels / 2 * size, .why = {}};
  }

  /// Whether every kernel that was found was the one that was asked for.
  bool use(int rounds, int first) const {
    KernelCache cache(options());
    for (int round = 0; round < rounds; ++round) {
      const int stored = (first + round) % kernels, asked = (first + 3 * round) % kernels;
      cache.store(key(stored), binary(stored));
      const auto found = cache.load(key(asked));
      if (found && *found != binary(asked)) return false;
    }
    return true;
  }

  fs::path root_;
};

int code_of(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(cuda_shared_cache, processes_that_replace_and_evict_find_what_was_stored) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(use(100, i) ? 0 : 1);
  }
  for (const pid_t child : children) EXPECT_EQ(code_of(child), 0);
  for (const auto& file : fs::directory_iterator(path())) {
    EXPECT_EQ(file.path().extension(), ".kernel") << file.path();
  }
}

/// In a child: writes to the pipe when it begins, then goes on for ever.
[[noreturn]] void store_for_ever(const KernelCache::Options& options, int pipe) {
  KernelCache cache(options);
  for (int i = 0;; ++i) {
    cache.store(key(i % kernels), binary(i % kernels));
    if (i == 2 && ::write(pipe, "!", 1) != 1) ::_exit(1);
  }
}

TEST_F(cuda_shared_cache, a_process_that_is_killed_at_work_leaves_nothing_wrong) {
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) store_for_ever(options(), ends[1]);
    char has_begun = 0;
    ASSERT_EQ(::read(ends[0], &has_begun, 1), 1);
    ::kill(child, SIGKILL);
    EXPECT_EQ(code_of(child), -SIGKILL);
    ::close(ends[0]);
    ::close(ends[1]);
    const KernelCache cache(options());
    for (int i = 0; i < kernels; ++i) {
      const auto found = cache.load(key(i));
      EXPECT_TRUE(!found || *found == binary(i)) << i;
    }
    EXPECT_TRUE(use(kernels, round));
  }
}

TEST_F(cuda_shared_cache, keys_are_no_paths) {
  KernelCache cache({.directory = path(), .why = {}});
  const std::vector<std::string> keys{
      "",       "../../outside",          "/etc/passwd", std::string("a\0b", 3), "a\nb",
      ".tmp-0", std::string(1 << 20, 'k')};
  for (const std::string& each : keys) {
    cache.store(each, {each.substr(0, 10), "kernel"});
    EXPECT_EQ(cache.load(each), (Binary{each.substr(0, 10), "kernel"}));
  }
  EXPECT_EQ(cache.info().entries, static_cast<std::int64_t>(keys.size()));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1);
  for (const auto& file : fs::directory_iterator(path())) {
    const std::string name = file.path().filename();
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), 32u) << name;
    EXPECT_EQ(name.substr(std::min<std::size_t>(name.size(), 32)), ".kernel");
  }
}

}  // namespace
}  // namespace quarry::backend::cuda
