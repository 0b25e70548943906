// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdio>

/// Two copies of the library in one process, each with its plugin: both compute, and the process
/// ends as any other.
///
/// Usage: two_copies <plugin>
int main(int count, char** arguments) {
  if (count != 2) return 2;
  void* const plugins[] = {dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL),
                           dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW | RTLD_LOCAL)};
  for (int round = 0; round < 2; ++round) {
    for (void* const plugin : plugins) {
      if (!plugin) return std::fprintf(stderr, "%s\n", dlerror()), 3;
      auto* const compute = reinterpret_cast<int (*)()>(dlsym(plugin, "compute"));
      if (!compute || compute() != 0) return 4;
    }
  }
  return dlsym(plugins[0], "compute") != dlsym(plugins[1], "compute") ? 0 : 5;
}
