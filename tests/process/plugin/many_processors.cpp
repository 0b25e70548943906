// SPDX-License-Identifier: BSD-3-Clause
// Loaded before a program, so that it finds 16 processors wherever it runs.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>

constexpr int processors = 16;

extern "C" int sched_getaffinity(pid_t /*process*/, std::size_t bytes, cpu_set_t* set) noexcept {
  std::memset(set, 0, bytes);
  for (int i = 0; i < processors; ++i) CPU_SET_S(i, bytes, set);
  return 0;
}

extern "C" long sysconf(int name) noexcept {
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors;
  using Sysconf = long (*)(int);
  static const auto real = reinterpret_cast<Sysconf>(dlsym(RTLD_NEXT, "sysconf"));
  return real(name);
}
