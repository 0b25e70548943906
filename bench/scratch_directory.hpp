// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace bench {

/// A directory that ends with the scope.
struct ScratchDirectory {
  std::filesystem::path path;
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "quarry-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
};

}  // namespace bench
