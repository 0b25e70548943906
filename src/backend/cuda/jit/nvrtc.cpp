// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
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
  if (!handle) return {.why = fmt::format("{}", dlerror())};
  const std::shared_ptr<void> is_open(handle, dlclose);
  auto table = std::make_unique<NvrtcTable>();
  for (const Row& row : rows(*table)) {
    *row.function = dlsym(handle, row.symbol);
    if (!*row.function) return {.why = fmt::format("{} has no {}", library, row.symbol)};
  }
  return {.table = std::move(table), .library = library, .is_open = is_open};
}

constinit std::atomic<const NvrtcTable*> installed_nvrtc = nullptr;

/// That of the machine. It stays loaded while `mutex` is held.
class MachineNvrtc {
 public:
  static MachineNvrtc& instance() {
    static auto& machine = *new MachineNvrtc;
    return machine;
  }
  const NvrtcTable& table() const {
    if (!loaded_.table) throw BackendUnavailable(loaded_.why);
    return *loaded_.table;
  }
  /// Returns false if it was not unloaded, because another library has it open.
  bool load_anew() {
    const std::string library = loaded_.library;
    loaded_ = {};
    void* const still_open = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (still_open) dlclose(still_open);
    loaded_ = load(library.c_str());
    return !still_open;
  }

  std::shared_mutex mutex;

 private:
  LoadedNvrtc loaded_ = load_nvrtc();
};

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

NvrtcUse::NvrtcUse(bool leaves_traces) : table_(installed_nvrtc.load(std::memory_order_acquire)) {
  if (table_) return;
  MachineNvrtc& machine = MachineNvrtc::instance();
  if (leaves_traces) {
    alone_ = std::unique_lock(machine.mutex);
    machine.table();
    require<BackendUnavailable>(machine.load_anew(), [] {
      return "code that is not optimised cannot be compiled while another library of the process "
             "uses NVRTC, too: kernels that are compiled later would be wrong";
    });
  } else {
    shared_ = std::shared_lock(machine.mutex);
  }
  table_ = &machine.table();
}

NvrtcUse::~NvrtcUse() {
  if (alone_) MachineNvrtc::instance().load_anew();
}

std::pair<int, int> version_of(const NvrtcTable& nvrtc) {
  std::pair<int, int> version;
  nvrtc.Version(&version.first, &version.second);
  return version;
}

std::pair<int, int> nvrtc_version() { return version_of(*NvrtcUse()); }

}  // namespace quarry::backend::cuda
