// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdio>

/// Loads a plugin that uses the library, calls it and closes it, several times. The library has
/// threads that outlive that, and stays.
///
/// Usage: host <plugin> <name of the library>
int main(int count, char** arguments) {
  if (count != 3) return 2;
  for (int i = 0; i < 3; ++i) {
    void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return std::fprintf(stderr, "%s\n", dlerror()), 3;
    auto* const compute = reinterpret_cast<int (*)()>(dlsym(plugin, "compute"));
    if (!compute || compute() != 0) return 4;
    dlclose(plugin);
  }
  return dlopen(arguments[2], RTLD_NOW | RTLD_NOLOAD) ? 0 : 5;
}
