// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "scratch_directory.hpp"

namespace bench {

/// What this program prints as a child with `variable` set, whose caches of kernels, its own and
/// that of NVRTC, are in `cache`.
inline std::string output_of_child(const char* variable, const std::filesystem::path& cache) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = std::string(variable) + "=1 QUARRY_CACHE_DIR='" + cache.string() +
                              "' CUDA_CACHE_PATH='" + (cache / "nvrtc").string() + "' '" + program +
                              "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output(200, '\0');
  if (pipe) output.resize(std::fread(output.data(), 1, output.size(), pipe.get()));
  if (!pipe || output.empty()) throw std::runtime_error("the child process failed");
  return output;
}

}  // namespace bench
