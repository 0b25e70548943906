// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <quarry/memory/failing.hpp>
#include <quarry/memory/nvtx.hpp>
#include <quarry/memory/statistics.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<Nvtx>);

TEST(Nvtx, PassesEverythingOn) {
  const Statistics below(Pool::of(get_current_device()));
  const Nvtx marked(below);
  EXPECT_EQ(marked.name(), "nvtx of " + below.name());
  const Stream s = default_stream();
  marked.deallocate(s, marked.allocate(s, 1000), 1000);
  EXPECT_EQ(below.statistics().bytes, (Tally{0, 1000, 1000}));
  const Nvtx failing{Failing(below, {.nth = 1})};
  EXPECT_THROW(failing.allocate(s, 10), MemoryError);
}

TEST(Nvtx, AProfilerSeesTheRanges) {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path) GTEST_SKIP() << "ctest sets NVTX_INJECTION64_PATH where there are the headers of NVTX";
  const Resource below = device_resource();
  const Nvtx marked(below);
  ASSERT_TRUE(Nvtx::is_active());
  void* const tool = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(tool, nullptr) << "not loaded: " << path;
  const auto take = reinterpret_cast<const char* (*)()>(::dlsym(tool, "quarry_nvtx_calls"));
  ASSERT_NE(take, nullptr) << "another profiler: " << path;
  take();
  const Stream s = default_stream();
  marked.deallocate(s, marked.allocate(s, 1024), 1024);
  EXPECT_THROW(Nvtx{Failing(below, {.nth = 1})}.allocate(s, 10), MemoryError);
  EXPECT_STREQ(take(),
               "Quarry: allocate 1024 bytes from device (1024)\nend\n"
               "Quarry: free 1024 bytes to device (1024)\nend\n"
               "Quarry: allocate 10 bytes from failing of device (10)\nend\n");
  ::dlclose(tool);
}

}  // namespace
}  // namespace quarry
