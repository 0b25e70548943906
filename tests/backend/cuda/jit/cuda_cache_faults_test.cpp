// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_cache.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "file_faults.hpp"

// Every call of the system that the kernel cache makes fails once, and from then on: a kernel is
// found as it was stored or not at all, one that was there before stays, and nothing else is left.
namespace quarry::backend::cuda {
namespace {

namespace fs = std::filesystem;
using test::FaultyFiles, test::FileFault, test::is_no_error, test::must_pass;

constexpr FileFault faults[] = {FileFault::io_error, FileFault::no_space, FileFault::interrupted,
                                FileFault::partial, FileFault::move_interrupted};

const std::string key = "library 1\nnvrtc 13.0\nsource";
const Binary binary{std::string("\177ELF\0 code", 10), "_Z6kernel"};

class cuda_cache_faults : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quarry_cache_faults_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    fs::permissions(path_, fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(path_); }
  KernelCache::Options options() const { return {.directory = path_, .why = {}}; }
  std::size_t file_count() const {
    return std::size_t(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

  /// Calls `body(k)` under every fault at every call.
  template <class F>
  void sweep(const F& body) {
    for (const FileFault fault : faults) {
      for (const bool stays : {false, true}) {
        if (must_pass(fault) && stays) continue;  // a call that never goes through
        const int calls = test::for_every_call([&](int k) { return body(fault, k, stays); });
        EXPECT_GE(calls, is_no_error(fault) ? 1 : 3);
      }
    }
  }

  std::string path_;
};

TEST_F(cuda_cache_faults, storing) {
  ::testing::internal::CaptureStderr();  // the warning
  sweep([&](FileFault fault, int k, bool stays) {
    fs::remove_all(path_);
    fs::create_directory(path_);
    fs::permissions(path_, fs::perms::owner_all);
    KernelCache cache(options());
    cache.store("old", binary);
    int hits = 0;
    {
      const FaultyFiles faulty(fault, k, stays);
      cache.store(key, binary);
      hits = faulty.hits();
    }
    KernelCache another(options());
    EXPECT_EQ(another.load("old"), binary) << k;
    const auto found = another.load(key);
    EXPECT_TRUE(!found || *found == binary) << k;
    EXPECT_EQ(file_count(), found ? 2u : 1u) << k;
    EXPECT_TRUE(found || !is_no_error(fault)) << k;
    return hits;
  });
  ::testing::internal::GetCapturedStderr();
}

TEST_F(cuda_cache_faults, loading) {
  KernelCache cache(options());
  sweep([&](FileFault fault, int k, bool stays) {
    cache.store(key, binary);
    std::optional<Binary> found;
    int hits = 0;
    {
      const FaultyFiles faulty(fault, k, stays);
      found = cache.load(key);
      hits = faulty.hits();
    }
    EXPECT_TRUE(!found || *found == binary) << k;
    EXPECT_TRUE(found || !is_no_error(fault)) << k;
    EXPECT_EQ(cache.load(key), binary) << k;
    return hits;
  });
}

}  // namespace
}  // namespace quarry::backend::cuda
