// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_file.hpp"

#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "io/in_folder.hpp"
#include "io/npy_reader.hpp"

namespace quarry::npy {
namespace {

namespace fs = std::filesystem;

class NpyFile : public test::InFolder {
 protected:
  std::string put(const std::string& name, const std::string& contents) const {
    write(path(name), contents);
    return path(name);
  }
  static void save(const std::string& path, const std::string& text) {
    Writer file(path);
    file.write(text);
    file.commit(false);
  }
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

/// What format strings and terminals take for theirs is passed on.
TEST_F(NpyFile, PathsStandInErrorsAsTheyAre) {
  for (const std::string name :
       {"%s%n%99999d.npy", "{}{0}{:x}.npy", "\xff\xfe\xc0.npy", "\x1b[31m\n"}) {
    try {
      Reader(path(name));
      FAIL();
    } catch (const IoError& e) {
      EXPECT_EQ(e.what(), path(name) + ": cannot be opened: No such file or directory");
    }
    save(path(name), "text");
    EXPECT_EQ(contents(path(name)), "text");
  }
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
  try {
    reader.read(elements);
    ADD_FAILURE() << "it was read";
  } catch (const IoError& e) {
    EXPECT_NE(std::string(e.what()).find("10 of 1000 bytes"), std::string::npos) << e.what();
  }
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
/// The signal of it would end the process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{size, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &old_); }

 private:
  rlimit old_{};
};

TEST_F(NpyFile, FullDiskLeavesTheOldFile) {
  const std::string file = put("a", "old");
  sigset_t before, after, pending;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const FileSizeLimit limit(4096);
    EXPECT_THROW(save(file, std::string(10000, 'x')), IoError);
  }
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(file_count(), 1u);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&before, SIGXFSZ), ::sigismember(&after, SIGXFSZ));
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 0);
}

TEST_F(NpyFile, NamesOfAnyLengthThatTheSystemTakes) {
  for (const std::size_t length : {1u, 230u, 234u, 235u, 250u, 255u}) {
    const std::string file = path(std::string(length, 'n'));
    save(file, "text");
    EXPECT_EQ(contents(file), "text") << length;
    fs::remove(file);
  }
  EXPECT_THROW(save(path(std::string(256, 'n')), ""), IoError);
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(NpyFile, PathsOfAnyLengthThatTheSystemTakes) {
  std::string deep = folder_.string();
  while (deep.size() + 202 < PATH_MAX - 3) deep += '/' + std::string(200, 'd');
  fs::create_directories(deep);
  deep += '/' + std::string(PATH_MAX - 2 - deep.size(), 'n');
  ASSERT_EQ(deep.size(), PATH_MAX - 1u);
  save(deep, "text");
  EXPECT_EQ(contents(deep), "text");
}

TEST_F(NpyFile, ALinkIsWrittenThroughAlsoToAFileThatIsNoneYet) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/target", path("relative"));
  fs::create_symlink(path("relative"), path("absolute"));
  for (const char* text : {"new", "again"}) {
    save(path("absolute"), text);
    EXPECT_EQ(contents(path("folder/target")), text);
    EXPECT_TRUE(fs::is_symlink(path("absolute")) && fs::is_symlink(path("relative")));
  }
  EXPECT_EQ(file_count(), 3u);
  fs::create_symlink("nowhere/target", path("dangling"));
  EXPECT_THROW(save(path("dangling"), ""), IoError);
  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(save(path("circle"), ""), IoError);
  EXPECT_EQ(file_count(), 5u);
}

TEST_F(NpyFile, APathWithAByteOfZeroIsNotCut) {
  const std::string file = put("a", "old");
  const std::string longer = file + std::string("\0.npy", 5);
  EXPECT_THROW(save(longer, "new"), IoError);
  EXPECT_THROW(Reader{longer}, IoError);
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(file_count(), 1u);
}

}  // namespace
}  // namespace quarry::npy
