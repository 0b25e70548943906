// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

struct Row {
  const char* symbol;
  void** function;
};

auto rows(NvrtcTable& table) {
  return std::to_array<Row>({
#define QUARRY_NVRTC(name) {"nvrtc" #name, reinterpret_cast<void**>(&table.name)},
#include "backend/cuda/jit/nvrtc.def"
#undef QUARRY_NVRTC
  });
}

/// The table of one library, or why it is not usable.
LoadedNvrtc load(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return {nullptr, fmt::format("{}", dlerror())};
  auto table = std::make_unique<NvrtcTable>();
  for (const Row& row : rows(*table)) {
    *row.function = dlsym(handle, row.symbol);
    if (!*row.function) return {nullptr, fmt::format("{} has no {}", library, row.symbol)};
  }
  return {std::move(table), {}};
}

constinit std::atomic<const NvrtcTable*> installed_nvrtc = nullptr;

const NvrtcTable& first_nvrtc() {
  static const auto& loaded = *new LoadedNvrtc(load_nvrtc());
  if (!loaded.table) throw BackendUnavailable(loaded.why);
  return *loaded.table;
}

}  // namespace

std::span<const char* const> nvrtc_libraries() {
  static constexpr const char* libraries[] = {
      "libnvrtc.so.13",
      "libnvrtc.so.12",
      "libnvrtc.so",
      "/usr/local/cuda/lib64/libnvrtc.so.13",
      "/usr/local/cuda/lib64/libnvrtc.so.12",
      "/usr/local/cuda/lib64/libnvrtc.so",
  };
  return libraries;
}

LoadedNvrtc load_nvrtc(std::span<const char* const> libraries) {
  std::string reasons;
  for (const char* library : libraries) {
    LoadedNvrtc loaded = load(library);
    if (loaded.table) return loaded;
    reasons += (reasons.empty() ? "" : "; ") + loaded.why;
  }
  return {nullptr, "no NVRTC was found: " + reasons};
}

void use_nvrtc(const NvrtcTable* table) { installed_nvrtc.store(table); }

const NvrtcTable& nvrtc() {
  const NvrtcTable* table = installed_nvrtc.load(std::memory_order_acquire);
  return table ? *table : first_nvrtc();
}

std::pair<int, int> nvrtc_version() {
  std::pair<int, int> version;
  nvrtc().Version(&version.first, &version.second);
  return version;
}

}  // namespace quarry::backend::cuda
