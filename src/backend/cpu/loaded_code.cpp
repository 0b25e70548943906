// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/loaded_code.hpp"

#include <dlfcn.h>

#include <mutex>
#include <unordered_set>

namespace quarry::backend::cpu_backend {
namespace {

/// Elements do not move, so an address identifies one.
struct Kept {
  std::mutex mutex;
  std::unordered_set<const kernels::program*> programs;
};
Kept& kept() {
  static auto& all = *new Kept;
  return all;
}

}  // namespace

void keep_loaded(const kernels::program& program) {
  const std::lock_guard lock(kept().mutex);
  if (!kept().programs.insert(&program).second) return;
  Dl_info object{};
  if (dladdr(&program, &object) == 0 || !object.dli_fname) return;
  // finds nothing for the program itself, which is never unloaded
  dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace quarry::backend::cpu_backend
