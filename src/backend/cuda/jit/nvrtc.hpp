// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <nvrtc.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>

#include "base/forked.hpp"

/// The run-time compiler as one table of functions: `NvrtcUse()->Version(&a, &b)` is nvrtcVersion.
namespace quarry::backend::cuda {

struct NvrtcTable {
#define QUARRY_NVRTC(name) decltype(&nvrtc##name) name = nullptr;
#include "backend/cuda/jit/nvrtc.def"
#undef QUARRY_NVRTC
};

/// A table, or the reason why there is none.
struct LoadedNvrtc {
  std::unique_ptr<const NvrtcTable> table = nullptr;
  std::string why = {};
  std::string library = {};                 ///< of the table
  std::shared_ptr<void> is_open = nullptr;  ///< the library, which is closed with its last user
};

/// Where NVRTC is looked for, in this order: sonames and absolute paths only.
std::span<const char* const> nvrtc_libraries();
/// The table of the first of `libraries` that can be loaded and has every function.
LoadedNvrtc load_nvrtc(std::span<const char* const> libraries = nvrtc_libraries());

/// Installs another table, to be called before the first use of the backend. The table must live to
/// the end of the process.
void use_nvrtc(const NvrtcTable* table);

/// NVRTC while it is used: the installed table, without one the machine's, loaded at the first use.
/// No process is forked meanwhile: NVRTC's exit handlers take locks that compiling holds. A thread
/// has one at a time.
class NvrtcUse {
 public:
  /// Throws BackendUnavailable saying why there is no NVRTC. What turns NVRTC's optimiser off turns
  /// it off for all later programs of the process, whose code is slow and wrong: if the compilation
  /// `leaves_traces`, it waits until nobody else uses NVRTC, which is loaded anew afterwards. That
  /// throws BackendUnavailable if other libraries of the process keep NVRTC loaded.
  explicit NvrtcUse(bool leaves_traces = false);
  NvrtcUse(const NvrtcUse&) = delete;
  NvrtcUse& operator=(const NvrtcUse&) = delete;
  ~NvrtcUse();
  const NvrtcTable* operator->() const { return table_; }
  const NvrtcTable& operator*() const { return *table_; }

 private:
  const NoForks no_forks_;
  std::shared_lock<std::shared_mutex> shared_;
  std::unique_lock<std::shared_mutex> alone_;
  const NvrtcTable* table_;
};

/// {major, minor}; {0, 0} if it does not tell.
std::pair<int, int> version_of(const NvrtcTable& nvrtc);
/// That of the table that NvrtcUse has; waits for nobody. Throws BackendUnavailable likewise.
std::pair<int, int> nvrtc_version();

}  // namespace quarry::backend::cuda
