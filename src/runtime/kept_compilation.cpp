// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/kept_compilation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <quarry/base/error.hpp>

namespace quarry::runtime {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void raise(const std::string& path, const std::string& why) {
  throw RuntimeError(fmt::format("the compilation cannot be kept in {}: {}", path, why));
}

std::string new_folder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (error ? fs::path("/tmp") : parent) / "quarry-compilation-XXXXXX";
  if (!::mkdtemp(name.data())) raise(name, std::strerror(errno));
  std::fputs(fmt::format("quarry: the compilation is kept in {}\n", name).c_str(), stderr);
  return name;
}

std::string folder_for(const CompileOptions& options) {
  if (options.keep_dir.empty()) return options.keep ? new_folder() : std::string();
  std::error_code error;
  fs::create_directories(options.keep_dir, error);
  if (error) raise(options.keep_dir, error.message());
  return options.keep_dir;
}

/// The file's name alone, without ".cu".
std::string stem_of(const std::string& name) {
  const std::string stem = fs::path(name).stem();
  return stem.empty() || stem == "." || stem == ".." ? "source" : stem;
}

}  // namespace

KeptCompilation::KeptCompilation(const backend::SourceText& source, const CompileOptions& options)
    : folder_(folder_for(options)), stem_(stem_of(source.file)) {
  add("cu", source.text);
  add("options", fmt::format("{}\n", fmt::join(source.options, "\n")));
}

void KeptCompilation::add(const std::string& ending, const std::string& bytes) const {
  if (folder_.empty()) return;
  const std::string path = fs::path(folder_) / (stem_ + "." + ending);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) raise(path, std::strerror(errno));
}

}  // namespace quarry::runtime
