// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <nvrtc.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>

/// The run-time compiler as one table of functions: `nvrtc().Version(&a, &b)` is nvrtcVersion.
namespace quarry::backend::cuda {

struct NvrtcTable {
#define QUARRY_NVRTC(name) decltype(&nvrtc##name) name = nullptr;
#include "backend/cuda/jit/nvrtc.def"
#undef QUARRY_NVRTC
};

/// A table, or the reason why there is none.
struct LoadedNvrtc {
  std::unique_ptr<const NvrtcTable> table;
  std::string why;
};

/// Where NVRTC is looked for, in this order: sonames and absolute paths only.
std::span<const char* const> nvrtc_libraries();
/// The table of the first of `libraries` that can be loaded and has every function.
LoadedNvrtc load_nvrtc(std::span<const char* const> libraries = nvrtc_libraries());

/// Installs another table, to be called before the first use of the backend. The table must live to
/// the end of the process.
void use_nvrtc(const NvrtcTable* table);

/// The installed table; without one the machine's NVRTC, loaded on the first call and kept. Throws
/// BackendUnavailable saying why there is none.
const NvrtcTable& nvrtc();
/// {major, minor} of that one; {0, 0} if it does not tell.
std::pair<int, int> nvrtc_version();

}  // namespace quarry::backend::cuda
