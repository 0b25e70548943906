// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace quarry::test {

/// Tests of files: each has a new folder, which is removed with all that is in it.
class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "quarry_io_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t file_count() const {
    using Iterator = std::filesystem::directory_iterator;
    return std::size_t(std::distance(Iterator(folder_), Iterator()));
  }
  static void write(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

/// The same, for tests of one file: its name is the argument.
class WithFile : public InFolder {
 protected:
  explicit WithFile(std::string name) : name_(std::move(name)) {}
  void SetUp() override {
    InFolder::SetUp();
    path_ = path(name_);
  }
  using InFolder::contents;
  std::string contents() const { return contents(path_); }

  std::string path_;

 private:
  std::string name_;
};

}  // namespace quarry::test
