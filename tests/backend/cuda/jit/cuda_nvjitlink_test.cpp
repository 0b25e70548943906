// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvjitlink.hpp"

#include <gtest/gtest.h>

#include <array>

#include <quarry/base/error.hpp>
#include <quarry/runtime/linker.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

namespace quarry::backend::cuda {
namespace {

TEST(cuda_nvjitlink, a_library_that_is_missing_or_another_one_is_named) {
  const std::array none{"libquarry-no-such.so.1"}, other{"libc.so.6"};
  const LoadedNvJitLink missing = load_nvjitlink(none), wrong = load_nvjitlink(other);
  EXPECT_EQ(missing.table, nullptr);
  EXPECT_NE(missing.why.find("no nvJitLink was found: libquarry-no-such.so.1"), std::string::npos);
  EXPECT_EQ(wrong.table, nullptr);
  EXPECT_NE(wrong.why.find("libc.so.6 has no nvJitLinkCreate"), std::string::npos);
}

TEST(cuda_nvjitlink, the_machines_library_has_every_function_of_its_version) {
  const LoadedNvJitLink loaded = load_nvjitlink();
  if (!loaded.table) GTEST_SKIP() << loaded.why;
  unsigned major = 0, minor = 0;
  ASSERT_EQ(loaded.table->Version(&major, &minor), 0);
  EXPECT_GE(major, 12u);
  // an option that is none gives the code of that, through the versioned functions
  LinkHandle handle = nullptr;
  const char* const options[] = {"-arch=sm_90", "-no-such-option"};
  EXPECT_EQ(loaded.table->Create(&handle, 2, options), 1);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(loaded.table->Destroy(&handle), 0);
}

TEST(cuda_nvjitlink, without_the_library_linking_is_unavailable) {
  static const NvJitLinkTable broken = [] {
    NvJitLinkTable table = fake::nvjitlink_table();
    table.Create = [](LinkHandle*, std::uint32_t, const char* const*) -> int {
      throw BackendUnavailable("no nvJitLink was found");
    };
    return table;
  }();
  use_nvjitlink(&broken);
  EXPECT_EQ(test::message_of<BackendUnavailable>(
                [] { Linker({.arch = "sm_90"}).add_ptx("code").complete(); }),
            "no nvJitLink was found");
  use_nvjitlink(test::kind() == test::Kind::fake ? &fake::nvjitlink_table() : nullptr);
}

}  // namespace
}  // namespace quarry::backend::cuda
