// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The linker as one table of functions: `nvjitlink().Complete(handle)` is nvJitLinkComplete. Its
/// header is not needed: the functions take numbers and addresses alone.
namespace quarry::backend::cuda {

using LinkHandle = struct nvJitLink*;

/// The symbols have the library's version in their names: __nvJitLinkCreate_13_0.
struct NvJitLinkTable {
#define QUARRY_NVJITLINK(name, parameters) int(*name) parameters = nullptr;
#include "backend/cuda/jit/nvjitlink.def"
#undef QUARRY_NVJITLINK
  int (*Version)(unsigned* major, unsigned* minor) = nullptr;
};

/// A table, or the reason why there is none.
struct LoadedNvJitLink {
  std::unique_ptr<const NvJitLinkTable> table;
  std::string why;
};

/// Where it is looked for, in this order: sonames and absolute paths only.
std::span<const char* const> nvjitlink_libraries();
/// The table of the first of `libraries` that can be loaded and has every function.
LoadedNvJitLink load_nvjitlink(std::span<const char* const> libraries = nvjitlink_libraries());

/// Installs another table, to be called before the first use. It must live to the process's end.
void use_nvjitlink(const NvJitLinkTable* table);

/// The installed table; without one the machine's nvJitLink, loaded on the first call and kept.
/// Throws BackendUnavailable saying why there is none.
const NvJitLinkTable& nvjitlink();

}  // namespace quarry::backend::cuda
