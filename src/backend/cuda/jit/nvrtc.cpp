// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include <quarry/base/error.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

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

/// The memory for exceptions of NVRTC's own C++ runtime, 71 KiB from its loading on, is not freed
/// with the library: LeakSanitizer does not count it.
void* opened(const char* library) {
#if defined(__SANITIZE_ADDRESS__)
  const __lsan::ScopedDisabler uncounted;
#endif
  return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

/// The table of one library, or why it is not usable.
LoadedNvrtc load(const char* library) {
  void* const handle = opened(library);
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
  /// Throws BackendUnavailable if there is none.
  static MachineNvrtc& instance() {
    static auto& machine = *new MachineNvrtc;
    if (machine.library_.empty()) throw BackendUnavailable(machine.why_);
    return machine;
  }
  std::pair<int, int> version() const { return version_; }

  /// nullptr while it cannot be used.
  const NvrtcTable* table() const { return has_traces_ ? nullptr : loaded_.table.get(); }
  /// What is compiled now leaves traces until the library has been unloaded.
  void note_traces() noexcept { has_traces_ = true; }
  /// Returns false if it was not unloaded, because another library has it open, or not loaded.
  bool load_anew() noexcept {
    try {
      loaded_ = {};
      void* const still_open = dlopen(library_.c_str(), RTLD_NOW | RTLD_NOLOAD);
      if (still_open) dlclose(still_open);
      loaded_ = load(library_.c_str());
      has_traces_ = has_traces_ && still_open;
      return !still_open && loaded_.table;
    } catch (const std::exception&) {  // no memory: tried again at the next use
      loaded_.table = nullptr;
      return false;
    }
  }

  std::shared_mutex mutex;

 private:
  LoadedNvrtc loaded_ = load_nvrtc();
  const std::string library_ = loaded_.library, why_ = loaded_.why;
  const std::pair<int, int> version_ =
      loaded_.table ? version_of(*loaded_.table) : std::pair<int, int>();
  bool has_traces_ = false;
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
  if (!leaves_traces) {
    shared_ = std::shared_lock(machine.mutex);
    table_ = machine.table();
    if (table_) return;
    shared_.unlock();
  }
  alone_ = std::unique_lock(machine.mutex);
  const bool is_new = machine.load_anew();
  table_ = machine.table();
  require<BackendUnavailable>(table_ && (is_new || !leaves_traces), [] {
    return "NVRTC cannot be loaded anew, because another library of the process uses it, too: "
           "after code that is not optimised it would compile wrong kernels";
  });
  if (leaves_traces) machine.note_traces();
}

NvrtcUse::~NvrtcUse() {
  if (alone_) MachineNvrtc::instance().load_anew();
}

std::pair<int, int> version_of(const NvrtcTable& nvrtc) {
  std::pair<int, int> version;
  nvrtc.Version(&version.first, &version.second);
  return version;
}

std::pair<int, int> nvrtc_version() {
  const NvrtcTable* const table = installed_nvrtc.load(std::memory_order_acquire);
  return table ? version_of(*table) : MachineNvrtc::instance().version();
}

}  // namespace quarry::backend::cuda
