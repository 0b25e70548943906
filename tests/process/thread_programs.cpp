// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <new>
#include <vector>

#include <quarry/quarry.hpp>

#include "process/child.hpp"

/// The system gives no more threads, files or address space. This program's pthread_create is the
/// one that the library and TBB call.
namespace quarry::test {
namespace {

std::atomic<int> threads_left = 1 << 30;

}  // namespace
}  // namespace quarry::test

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* with) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (quarry::test::threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return create(thread, attributes, run, with);
}
#endif

namespace quarry::test {

bool allow_threads(int count) {
  threads_left = count;
  return !has_sanitizer;
}

namespace {

constexpr std::int64_t count = 1 << 20;
constexpr int wrong_values = 3, wrong_afterwards = 4;

/// The values are right, or there is a typed error.
bool is_right_or_says_so(const Stream& s) {
  try {
    const auto a = full<float>({count}, 1, {.stream = s});
    const DeviceNDArray<float> b = a + 1.f;
    std::vector<float> host(count, -1);
    b.copy_to_host(host);
    for (const float value : host) {
      if (value != 2) return false;
    }
    return sum(b).item() == 2.f * count && sum(b.reshape({1024, 1024}), 0)(3).item() == 2048;
  } catch (const RuntimeError&) {
  } catch (const MemoryError&) {
  } catch (const std::bad_alloc&) {
  }
  return true;
}

/// `threads` can be started from the moment on that everything runs out; then there are enough.
template <int threads, bool created>
int run_out() {
  if (has_sanitizer) return 0;
  const DeviceGuard cpu(Device::cpu());
  {
    const Stream before = stream();
    sum(ones<float>({10}, {.stream = before})).item();  // too small for threads of a loop
  }
  const Stream s = created ? stream() : default_stream();
  allow_threads(threads);
  for (int i = 0; i < 3; ++i) {
    if (!is_right_or_says_so(s)) return wrong_values;
  }
  allow_threads(1 << 30);
  try {
    s.synchronize();
  } catch (const Error&) {
  }
  const auto a = full<float>({count}, 1, {.stream = s});
  return sum(a + 1.f).item() == 2.f * count ? 0 : wrong_afterwards;
}

rlim_t address_space_in_use() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// The system gives no more than this from now on.
void limit(int what, rlim_t most) {
  const rlimit both{most, most};
  if (setrlimit(static_cast<__rlimit_resource>(what), &both) != 0) std::abort();
}

/// The device itself may be what cannot be had any more.
int outcome() {
  try {
    return is_right_or_says_so(default_stream()) ? 0 : wrong_values;
  } catch (const BackendUnavailable&) {
    return 0;
  }
}

/// Before the first use, and in the midst of it.
template <bool late, rlim_t files>
int open_few_files() {
  if (has_sanitizer) return 0;  // they open files of their own
  if (late && !is_right_or_says_so(default_stream())) return wrong_values;
  limit(RLIMIT_NOFILE, files);
  return outcome();
}

/// How much memory there is stands in files that cannot be opened then: it is not taken for none.
int allocate_much_without_files() {
  if (has_sanitizer) return 0;
  const DeviceGuard cpu(Device::cpu());
  if (!is_right_or_says_so(default_stream())) return wrong_values;
  limit(RLIMIT_NOFILE, 3);
  try {
    return sum(full<float>({16 * count}, 1)).item() == 16.f * count ? 0 : wrong_values;
  } catch (const MemoryError&) {
    return wrong_afterwards;
  }
}

template <bool late, rlim_t mebibytes>
int have_little_address_space() {
  if (has_sanitizer) return 0;
  if (late && !is_right_or_says_so(default_stream())) return wrong_values;
  limit(RLIMIT_AS, address_space_in_use() + (mebibytes << 20));
  return outcome();
}

}  // namespace

std::vector<Program> thread_programs() {
  return {{"FewFiles", open_few_files<false, 6>},
          {"FewFilesLate", open_few_files<true, 3>},
          {"MuchMemoryWithoutFiles", allocate_much_without_files},
          {"LittleAddressSpace", have_little_address_space<false, 64>},
          {"VeryLittleAddressSpace", have_little_address_space<false, 2>},
          {"LittleAddressSpaceLate", have_little_address_space<true, 1>},
          {"NoThreadsInTheDefaultStream", run_out<0, false>},
          {"NoThreadsInAStream", run_out<0, true>},
          {"OneThreadInTheDefaultStream", run_out<1, false>},
          {"OneThreadInAStream", run_out<1, true>},
          {"TwoThreadsInAStream", run_out<2, true>}};
}

}  // namespace quarry::test
