// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/limits.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// What a process may take, as Linux tells it, and that no more is promised.
namespace quarry::backend {
namespace {

using cpu_backend::memory_limits;
constexpr std::size_t mib = std::size_t{1} << 20;

class MemoryLimits : public testing::Test {
 protected:
  MemoryLimits() { EXPECT_NE(mkdtemp(root_.data()), nullptr); }
  ~MemoryLimits() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void system(std::size_t free_mib, std::size_t total_mib) const {
    write("/proc/meminfo", "MemTotal:       " + std::to_string(total_mib * 1024) +
                               " kB\nMemFree:              1 kB\nMemAvailable:   " +
                               std::to_string(free_mib * 1024) + " kB\n");
  }
  void group(const std::string& path, const std::string& limit, std::size_t used) const {
    write("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    write("/sys/fs/cgroup" + path + "/memory.current", std::to_string(used) + "\n");
  }
  std::size_t free_mib() const {
    const std::size_t free = memory_limits(root_.c_str()).free;
    EXPECT_EQ(free % mib, 0u) << "every size that is written is in MiB";
    return free / mib;
  }
  std::size_t total_mib() const { return memory_limits(root_.c_str()).total / mib; }

 private:
  std::string root_ = (std::filesystem::temp_directory_path() / "quarry-limits-XXXXXX").string();
};

TEST_F(MemoryLimits, AreTheSystemsWithoutGroups) {
  EXPECT_EQ(total_mib(), 0u);
  system(300, 1000);
  EXPECT_EQ(free_mib(), 300u);
  EXPECT_EQ(total_mib(), 1000u);
}

TEST_F(MemoryLimits, AreTheGroupsWhereThatIsLess) {
  system(3000, 10000);
  write("/proc/self/cgroup", "0::/a/b\n");
  group("/a/b", std::to_string(500 * mib), 200 * mib);
  EXPECT_EQ(free_mib(), 300u);
  EXPECT_EQ(total_mib(), 500u);
  group("/a/b", "max", 200 * mib);
  EXPECT_EQ(free_mib(), 3000u);
  group("/a/b", std::to_string(50000 * mib), 0);
  EXPECT_EQ(free_mib(), 3000u);
}

TEST_F(MemoryLimits, AreThoseOfGroupsAboveToo) {
  system(3000, 10000);
  write("/proc/self/cgroup", "0::/a/b\n");
  group("/a/b", "max", 0);
  group("/a", std::to_string(100 * mib), 40 * mib);
  EXPECT_EQ(free_mib(), 60u);
  group("", std::to_string(50 * mib), 40 * mib);
  EXPECT_EQ(free_mib(), 10u);
}

TEST_F(MemoryLimits, CountFilesThatAreOnlyCachedAsFree) {
  system(3000, 10000);
  write("/proc/self/cgroup", "0::/\n");
  group("", std::to_string(500 * mib), 450 * mib);
  write("/sys/fs/cgroup/memory.stat",
        "anon 1\nfile 2\ninactive_file " + std::to_string(100 * mib) + "\nactive_file 3\n");
  EXPECT_EQ(free_mib(), 150u);
}

TEST_F(MemoryLimits, AreThoseOfVersionOneToo) {
  system(3000, 10000);
  write("/proc/self/cgroup", "12:pids:/x\n5:cpu,memory:/a/b\n0::/\n");
  const std::string here = "/sys/fs/cgroup/memory/a/b/memory.";
  write(here + "limit_in_bytes", std::to_string(500 * mib));
  write(here + "usage_in_bytes", std::to_string(450 * mib));
  write(here + "stat", "inactive_file 5\ntotal_inactive_file " + std::to_string(10 * mib) + "\n");
  EXPECT_EQ(free_mib(), 60u);
  write(here + "limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(free_mib(), 3000u);
}

TEST_F(MemoryLimits, OfAGroupThatIsOverItsLimitNothingIsFree) {
  system(3000, 10000);
  group("", std::to_string(100 * mib), 200 * mib);
  EXPECT_EQ(free_mib(), 0u);
}

/// What is granted is there when it is used, also when nothing of it has been used yet.
TEST(CpuMemory, IsNotPromisedTwice) {
  const auto [free, total] = cpu().memory_info();
  if (free < 100 * mib) GTEST_SKIP() << "too little memory is free";
  EXPECT_EQ(cpu().allocate(free + (total - free) / 4 * 3), nullptr);
  const std::size_t half = free / 4 * 3;
  void* const first = cpu().allocate(half);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(cpu().allocate(half), nullptr);
  EXPECT_EQ(cpu().allocate_host(half, {}), nullptr);
  EXPECT_EQ(cpu().allocate_managed(half, Attach::global), nullptr);
  void* small = cpu().allocate(1000);
  EXPECT_NE(small, nullptr);
  cpu().free(small, 1000);
  cpu().free(first, half);
  void* const again = cpu().allocate(half);
  EXPECT_NE(again, nullptr);
  cpu().free(again, half);
}

/// Small requests are looked at together.
TEST(CpuMemory, IsNotPromisedInSmallPiecesEither) {
  const std::size_t free = cpu().memory_info().free, piece = 4 * mib;
  if (free < 100 * mib || free / piece > 100'000) GTEST_SKIP() << "too much or too little is free";
  std::vector<void*> pieces;
  while (pieces.size() * piece < 2 * free) {
    void* const memory = cpu().allocate(piece);
    if (!memory) break;
    pieces.push_back(memory);
  }
  EXPECT_LT(pieces.size() * piece, free + free / 4 + 500 * mib);
  for (void* const memory : pieces) cpu().free(memory, piece);
}

}  // namespace
}  // namespace quarry::backend
