// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/cuda/jit/kernel_file.hpp"

namespace quarry::backend::cuda {
namespace {

namespace fs = std::filesystem;

const std::string key = "library 1\nnvrtc 13.0\nsource";
const Binary binary{std::string("\177ELF\0 code", 10), "_Z6kernel"};

class cuda_kernel_cache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quarry_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override {
    fs::permissions(root_, fs::perms::owner_all);
    fs::remove_all(root_);
  }
  std::string path() const { return (root_ / "cache").string(); }
  KernelCache::Options options() const { return {.directory = path(), .why = {}}; }
  /// The one file of the cache.
  fs::path entry() const {
    const fs::directory_iterator files(path());
    return files == fs::directory_iterator() ? fs::path() : files->path();
  }
  static std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void overwrite(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  }
  std::string warning_of(const KernelCache::Options& options) {
    ::testing::internal::CaptureStderr();
    KernelCache cache(options);
    cache.store(key, binary);
    cache.store(key + "2", binary);
    return ::testing::internal::GetCapturedStderr();
  }

  fs::path root_;
};

TEST(cuda_kernel_file, round_trip) {
  const std::string bytes = encode_kernel(key, binary);
  const DecodedKernel decoded = decode_kernel(bytes, key);
  EXPECT_TRUE(decoded.is_sound);
  EXPECT_EQ(decoded.binary, binary);
}

TEST(cuda_kernel_file, another_key_of_the_same_name_is_a_sound_miss) {
  const DecodedKernel decoded = decode_kernel(encode_kernel(key, binary), key + "x");
  EXPECT_TRUE(decoded.is_sound);
  EXPECT_FALSE(decoded.binary);
}

TEST(cuda_kernel_file, every_truncation_is_refused) {
  const std::string bytes = encode_kernel(key, binary);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_kernel(bytes.substr(0, size), key).is_sound) << size;
  }
  EXPECT_FALSE(decode_kernel(bytes + "x", key).is_sound);
}

TEST(cuda_kernel_file, every_flipped_bit_is_found) {
  const std::string bytes = encode_kernel(key, binary);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_kernel(damaged, key).is_sound) << bit;
  }
}

TEST(cuda_kernel_file, huge_sizes_are_refused) {
  const std::string bytes = encode_kernel(key, binary);
  for (const std::size_t at : {8u, 16u, 24u}) {
    for (const int top : {0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at + 7] = static_cast<char>(top);
      EXPECT_FALSE(decode_kernel(damaged, key).is_sound);
    }
  }
}

TEST_F(cuda_kernel_cache, what_is_stored_is_found_by_another_process) {
  KernelCache(options()).store(key, binary);
  const KernelCache cache(options());
  EXPECT_EQ(cache.load(key), binary);
  EXPECT_EQ(cache.load(key + "x"), std::nullopt);
  EXPECT_EQ(cache.info().entries, 1);
  EXPECT_EQ(cache.info().bytes, static_cast<std::int64_t>(encode_kernel(key, binary).size()));
  EXPECT_EQ(cache.info().path, path());
}

TEST_F(cuda_kernel_cache, files_and_directories_are_private) {
  KernelCache(options()).store(key, binary);
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(entry()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(cuda_kernel_cache, a_damaged_file_is_removed_and_replaced) {
  KernelCache cache(options());
  cache.store(key, binary);
  const fs::path file = entry();
  const std::string bytes = contents(file);
  for (const std::string& damaged :
       {std::string(), bytes.substr(0, bytes.size() / 2), bytes + "x"}) {
    overwrite(file, damaged);
    EXPECT_EQ(cache.load(key), std::nullopt);
    EXPECT_FALSE(fs::exists(file));
    cache.store(key, binary);
    EXPECT_EQ(cache.load(key), binary);
  }
}

TEST_F(cuda_kernel_cache, a_directory_that_others_can_write_to_is_refused) {
  fs::create_directory(path());
  for (const auto perms : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path(), fs::perms::owner_all | perms);
    EXPECT_NE(warning_of(options()).find("written to by others"), std::string::npos);
    EXPECT_TRUE(fs::is_empty(path()));
  }
}

TEST_F(cuda_kernel_cache, a_link_or_a_file_is_no_cache_directory) {
  fs::create_directory(root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", path());
  EXPECT_FALSE(warning_of(options()).empty());
  EXPECT_TRUE(fs::is_empty(root_ / "elsewhere"));
  fs::remove(path());
  overwrite(path(), "a file");
  EXPECT_FALSE(warning_of(options()).empty());
}

TEST_F(cuda_kernel_cache, links_pipes_and_directories_in_place_of_a_file_are_not_read) {
  KernelCache cache(options());
  cache.store(key, binary);
  const fs::path file = entry();
  ASSERT_EQ(cache.load(key), binary);
  fs::rename(file, root_ / "planted");
  fs::create_symlink(root_ / "planted", file);
  EXPECT_EQ(cache.load(key), std::nullopt);
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache.load(key), std::nullopt);
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(cache.load(key), std::nullopt);
  fs::remove_all(file);
  fs::rename(root_ / "planted", file);
  EXPECT_EQ(cache.load(key), binary) << "nothing else was wrong with it";
}

TEST_F(cuda_kernel_cache, a_file_that_others_can_write_to_is_not_read) {
  KernelCache cache(options());
  cache.store(key, binary);
  ASSERT_EQ(cache.load(key), binary);
  fs::permissions(entry(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.load(key), std::nullopt);
}

TEST_F(cuda_kernel_cache, one_warning_where_nothing_can_be_written) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(path());
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_exec);
  const std::string warning = warning_of(options());
  EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
  fs::permissions(path(), fs::perms::owner_all);
}

/// No file of this process grows beyond `bytes`, as on a disk that is full. The signal of it would
/// end the process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &old_); }

 private:
  rlimit old_{};
};

TEST_F(cuda_kernel_cache, a_write_that_fails_midway_leaves_nothing) {
  const Binary large{std::string(5000, 'x'), "kernel"};
  KernelCache cache(options());
  ::testing::internal::CaptureStderr();
  {
    const FileSizeLimit limit(4096);
    cache.store(key, large);
    cache.store(key + "2", large);
  }
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
  EXPECT_TRUE(fs::is_empty(path()));
  cache.store(key, large);
  EXPECT_EQ(cache.load(key), large);
}

TEST_F(cuda_kernel_cache, a_removed_directory_is_tolerated) {
  KernelCache cache(options());
  fs::remove_all(path());
  ::testing::internal::CaptureStderr();
  cache.store(key, binary);
  EXPECT_EQ(cache.load(key), std::nullopt);
  EXPECT_EQ(cache.info().entries, 0);
  ::testing::internal::GetCapturedStderr();
}

TEST_F(cuda_kernel_cache, the_longest_unused_go_when_it_is_full) {
  const auto size = static_cast<std::int64_t>(encode_kernel(key + "0", binary).size());
  KernelCache::Options small = options();
  small.capacity = 4 * size;
  KernelCache cache(small);
  for (int i = 0; i < 4; ++i) {
    cache.store(key + std::to_string(i), binary);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(cache.load(key + "0"));  // now the youngest
  cache.store(key + "4", binary);
  EXPECT_LE(cache.info().bytes, small.capacity);
  EXPECT_TRUE(cache.load(key + "0"));
  EXPECT_FALSE(cache.load(key + "1"));
  EXPECT_TRUE(cache.load(key + "4"));
}

TEST_F(cuda_kernel_cache, stale_temporary_files_are_removed) {
  fs::create_directory(path());
  fs::permissions(path(), fs::perms::owner_all);
  const fs::path stale = path() + "/.tmp-0", fresh = path() + "/.tmp-1";
  overwrite(stale, "x");
  overwrite(fresh, "x");
  fs::last_write_time(stale, fs::file_time_type::clock::now() - std::chrono::hours(2));
  KernelCache(options()).store(key, binary);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(cuda_kernel_cache, many_threads_store_and_load_one_kernel) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      KernelCache cache(options());
      for (int round = 0; round < 20; ++round) {
        cache.store(key, binary);
        if (cache.load(key) != binary) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(KernelCache(options()).info().entries, 1);
}

/// Sets variables and puts the old values back.
class Environment {
 public:
  Environment() {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const char* value = std::getenv(names[i])) saved_[i] = value;
      ::unsetenv(names[i]);
    }
  }
  ~Environment() {
    for (std::size_t i = 0; i < names.size(); ++i) {
      saved_[i] ? ::setenv(names[i], saved_[i]->c_str(), 1) : ::unsetenv(names[i]);
    }
  }
  void set(const char* name, const char* value) { ::setenv(name, value, 1); }

 private:
  static constexpr std::array names{"QUARRY_CACHE_DIR", "QUARRY_CACHE_SIZE", "QUARRY_DISABLE_CACHE",
                                    "XDG_CACHE_HOME", "HOME"};
  std::array<std::optional<std::string>, names.size()> saved_;
};

TEST(cuda_kernel_cache_options, the_first_place_that_is_set_is_taken) {
  Environment environment;
  const auto directory = [] { return KernelCache::options_from_environment().directory; };
  EXPECT_EQ(directory(), "");
  EXPECT_FALSE(KernelCache::options_from_environment().why.empty());
  environment.set("HOME", "relative");
  EXPECT_EQ(directory(), "");
  environment.set("HOME", "/home/me");
  EXPECT_EQ(directory(), "/home/me/.cache/quarry");
  environment.set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(directory(), "/home/me/.cache/quarry");
  environment.set("XDG_CACHE_HOME", "/xdg");
  EXPECT_EQ(directory(), "/xdg/quarry");
  environment.set("QUARRY_CACHE_DIR", "/own");
  EXPECT_EQ(directory(), "/own");
  environment.set("QUARRY_DISABLE_CACHE", "1");
  EXPECT_EQ(directory(), "");
  EXPECT_TRUE(KernelCache::options_from_environment().why.empty());
}

TEST(cuda_kernel_cache_options, nonsense_is_refused) {
  Environment environment;
  const auto capacity = [] { return KernelCache::options_from_environment().capacity; };
  EXPECT_EQ(capacity(), std::int64_t{256} << 20);
  environment.set("QUARRY_CACHE_SIZE", "1000");
  EXPECT_EQ(capacity(), 1000);
  for (const char* nonsense : {"-1", "many", "10x", "99999999999999999999"}) {
    environment.set("QUARRY_CACHE_SIZE", nonsense);
    EXPECT_THROW(capacity(), LogicError) << nonsense;
  }
  environment.set("QUARRY_CACHE_SIZE", "");
  for (const char* nonsense : {"yes", "2", "true", " 1"}) {
    environment.set("QUARRY_DISABLE_CACHE", nonsense);
    EXPECT_THROW(capacity(), LogicError) << nonsense;
  }
}

TEST_F(cuda_kernel_cache, a_relative_directory_is_refused) {
  EXPECT_NE(warning_of({.directory = "here", .why = {}}).find("absolute"), std::string::npos);
}

}  // namespace
}  // namespace quarry::backend::cuda
