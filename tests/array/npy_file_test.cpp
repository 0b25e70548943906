// SPDX-License-Identifier: BSD-3-Clause
#include "array/npy_file.hpp"

#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace quarry::npy {
namespace {

namespace fs = std::filesystem;

class NpyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quarry_npy_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t file_count() const {
    return std::size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string put(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void save(const std::string& path, const std::string& text) {
    Writer file(path);
    file.write(text);
    file.commit(false);
  }

  fs::path folder_;
};

TEST_F(NpyFile, IsReadInPieces) {
  const std::string file = put("a.npy", make_header(TypeId::int16, Order::c, {4}) + "aAbBcCdD!");
  Reader reader(file);
  EXPECT_EQ(reader.header().shape, Shape({4}));
  std::string first(2, ' '), rest(6, ' ');
  reader.read(std::as_writable_bytes(std::span(first)));
  reader.read(std::as_writable_bytes(std::span(rest)));
  EXPECT_EQ(first + rest, "aAbBcCdD");
}

TEST_F(NpyFile, WhatCannotBeReadIsNamedWithTheReason) {
  try {
    Reader(path("absent.npy"));
    FAIL();
  } catch (const IoError& e) {
    EXPECT_EQ(e.what(), path("absent.npy") + ": cannot be opened: No such file or directory");
  }
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_THROW(Reader(path("fifo")), IoError);
  EXPECT_THROW(Reader(folder_.string()), IoError);
  EXPECT_THROW(Reader("/dev/null"), IoError);
  EXPECT_THROW(Reader(""), IoError);
  EXPECT_THROW(Reader(put("empty.npy", "")), FormatError);
}

TEST_F(NpyFile, FormatErrorsNameTheFile) {
  const std::string file = put("bad.npy", "no array");
  try {
    Reader{file};
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(file + ": npy: "));
  }
}

TEST_F(NpyFile, FileThatShrinksWhileReadIsAnError) {
  const std::string file =
      put("a.npy", make_header(TypeId::uint8, Order::c, {1000}) + std::string(1000, 'x'));
  Reader reader(file);
  fs::resize_file(file, reader.header().data_offset + 10);
  std::vector<std::byte> elements(1000);
  EXPECT_THROW(reader.read(elements), IoError);
}

TEST_F(NpyFile, NothingIsSeenBeforeTheCommit) {
  const std::string file = put("a", "old");
  {
    Writer writer(file);
    writer.write("new");
    EXPECT_EQ(contents(file), "old");
  }
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(file_count(), 1u);
  {
    Writer writer(file);
    writer.write("new");
    writer.commit(true);
  }
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(NpyFile, ModeOfAReplacedFileStaysAndLinksAreFollowed) {
  const std::string file = put("a", "old");
  fs::permissions(file, fs::perms(0640));
  fs::create_symlink("a", path("link"));
  save(path("link"), "new");
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
  EXPECT_TRUE(fs::is_symlink(path("link")));
}

TEST_F(NpyFile, WhatCannotBeWrittenIsAnIoErrorAndLeavesNothing) {
  EXPECT_THROW(save(path("no/such/folder"), ""), IoError);
  EXPECT_THROW(save(folder_.string(), ""), IoError);
  EXPECT_THROW(save("", ""), IoError);
  EXPECT_THROW(save("/dev/null", ""), IoError);
  EXPECT_EQ(file_count(), 0u);
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

/// No file of this process may grow beyond `size` bytes while this lives; stands for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{size, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  sighandler_t handler_;
};

TEST_F(NpyFile, FullDiskLeavesTheOldFile) {
  const std::string file = put("a", "old");
  const FileSizeLimit limit(4096);
  EXPECT_THROW(save(file, std::string(10000, 'x')), IoError);
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(file_count(), 1u);
}

}  // namespace
}  // namespace quarry::npy
