// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvjitlink.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

struct Row {
  const char* name;
  void** function;
};

auto rows(NvJitLinkTable& table) {
  return std::to_array<Row>({
#define QUARRY_NVJITLINK(name, parameters) {#name, reinterpret_cast<void**>(&table.name)},
#include "backend/cuda/jit/nvjitlink.def"
#undef QUARRY_NVJITLINK
  });
}

/// Where the functions have the version of the interface in their names ("__nvJitLinkCreate_13_0"):
/// a library has the versions up to its own. The newest is taken, the same for all functions.
std::string symbol(const char* name, const std::string& version) {
  return version.empty() ? fmt::format("nvJitLink{}", name)
                         : fmt::format("__nvJitLink{}_{}", name, version);
}

std::string interface_version(void* library, const NvJitLinkTable& table) {
  unsigned major = 0, minor = 0;
  if (!table.Version || table.Version(&major, &minor) != 0) return {};
  for (unsigned down = minor + 1; down-- > 0;) {
    std::string version = fmt::format("{}_{}", major, down);
    if (dlsym(library, symbol("Create", version).c_str())) return version;
  }
  return {};
}

LoadedNvJitLink load(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return {nullptr, fmt::format("{}", dlerror())};
  auto table = std::make_unique<NvJitLinkTable>();
  *reinterpret_cast<void**>(&table->Version) = dlsym(handle, "nvJitLinkVersion");
  const std::string version = interface_version(handle, *table);
  for (const Row& row : rows(*table)) {
    const std::string name = symbol(row.name, version);
    *row.function = dlsym(handle, name.c_str());
    if (!*row.function) return {nullptr, fmt::format("{} has no {}", library, name)};
  }
  return {std::move(table), {}};
}

constinit std::atomic<const NvJitLinkTable*> installed_nvjitlink = nullptr;

const NvJitLinkTable& first_nvjitlink() {
  static const auto& loaded = *new LoadedNvJitLink(load_nvjitlink());
  if (!loaded.table) throw BackendUnavailable(loaded.why);
  return *loaded.table;
}

}  // namespace

std::span<const char* const> nvjitlink_libraries() {
  static constexpr const char* libraries[] = {
      "libnvJitLink.so.13",
      "libnvJitLink.so.12",
      "/usr/local/cuda/lib64/libnvJitLink.so.13",
      "/usr/local/cuda/lib64/libnvJitLink.so.12",
  };
  return libraries;
}

LoadedNvJitLink load_nvjitlink(std::span<const char* const> libraries) {
  std::string reasons;
  for (const char* library : libraries) {
    LoadedNvJitLink loaded = load(library);
    if (loaded.table) return loaded;
    reasons += (reasons.empty() ? "" : "; ") + loaded.why;
  }
  return {nullptr, "no nvJitLink was found: " + reasons};
}

void use_nvjitlink(const NvJitLinkTable* table) { installed_nvjitlink.store(table); }

const NvJitLinkTable& nvjitlink() {
  const NvJitLinkTable* table = installed_nvjitlink.load(std::memory_order_acquire);
  return table ? *table : first_nvjitlink();
}

}  // namespace quarry::backend::cuda
