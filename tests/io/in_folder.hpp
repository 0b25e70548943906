// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "temporary_folder.hpp"

namespace quarry::test {

/// Tests of files: each has a new folder, which is removed with all that is in it.
class InFolder : public testing::Test {
 protected:
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

  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
};

/// The same, for tests of one file: its name is the argument.
class WithFile : public InFolder {
 protected:
  explicit WithFile(const std::string& name) : path_(path(name)) {}
  using InFolder::contents;
  std::string contents() const { return contents(path_); }

  const std::string path_;
};

}  // namespace quarry::test
