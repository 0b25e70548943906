// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <dlfcn.h>

#include <stdexcept>

namespace bench {

/// The launch of a kernel that does nothing, in the default stream of the current context, by the
/// driver alone.
class BareLaunch {
 public:
  BareLaunch() {
    using Load = int (*)(void** module, const void* code);
    using Get = int (*)(void** function, void* module, const char* name);
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) throw std::runtime_error("no driver");
    const auto load = reinterpret_cast<Load>(dlsym(driver, "cuModuleLoadData"));
    const auto get = reinterpret_cast<Get>(dlsym(driver, "cuModuleGetFunction"));
    launch_ = reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"));
    void* module = nullptr;
    must(load(&module, ".version 7.0\n.target sm_50\n.address_size 64\n.entry nothing() { ret; }"));
    must(get(&nothing_, module, "nothing"));
  }
  void operator()() const {
    must(launch_(nothing_, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  }

 private:
  using Launch = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         void* stream, void** parameters, void** extra);
  static void must(int result) {
    if (result != 0) throw std::runtime_error("a bare launch failed");
  }

  Launch launch_ = nullptr;
  void* nothing_ = nullptr;
};

}  // namespace bench
