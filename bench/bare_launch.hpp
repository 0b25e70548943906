// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <dlfcn.h>

#include <stdexcept>

namespace bench {

/// A kernel of PTX, launched in the default stream of the current context by the driver alone.
class BareKernel {
 public:
  BareKernel(const char* ptx, const char* name) {
    using Load = int (*)(void** module, const void* code);
    using Get = int (*)(void** function, void* module, const char* name);
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) throw std::runtime_error("no driver");
    const auto load = reinterpret_cast<Load>(dlsym(driver, "cuModuleLoadData"));
    const auto get = reinterpret_cast<Get>(dlsym(driver, "cuModuleGetFunction"));
    launch_ = reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"));
    void* module = nullptr;
    must(load(&module, ptx));
    must(get(&kernel_, module, name));
  }
  void operator()(unsigned grid, unsigned block, void** parameters = nullptr) const {
    must(launch_(kernel_, grid, 1, 1, block, 1, 1, 0, nullptr, parameters, nullptr));
  }

 private:
  using Launch = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         void* stream, void** parameters, void** extra);
  static void must(int result) {
    if (result != 0) throw std::runtime_error("a bare launch failed");
  }

  Launch launch_ = nullptr;
  void* kernel_ = nullptr;
};

/// The launch of a kernel that does nothing.
class BareLaunch {
 public:
  void operator()() const { nothing_(1, 32); }

 private:
  BareKernel nothing_{".version 7.0\n.target sm_50\n.address_size 64\n.entry nothing() { ret; }",
                      "nothing"};
};

}  // namespace bench
