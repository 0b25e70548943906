// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/memory/registered.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// What reaches the driver.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

template <class T>
using PinnedVector = std::vector<T, PinnedAllocator<T>>;

class FakeHostMemory : public testing::Test {
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
    detail::trim_host_memory(get_current_device());
    shim::reset_counts();
    before_ = fake::live().host_blocks;
  }

 protected:
  std::size_t before_ = 0;  // what copies have been staged in stays
};

unsigned flags_of(void* memory) { return Device().backend().host_flags(memory); }

TEST_F(FakeHostMemory, OptionsReachTheDriver) {
  const PinnedAllocator<int> plain, portable({.portable = true}),
      combined({.write_combined = true}), both({.portable = true, .write_combined = true});
  constexpr unsigned always = CU_MEMHOSTALLOC_DEVICEMAP;
  PinnedVector<int> a(10, 0, plain), b(10, 0, portable), c(10, 0, combined), d(10, 0, both);
  EXPECT_EQ(flags_of(a.data()), always);
  EXPECT_EQ(flags_of(b.data()), always | CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(flags_of(c.data()), always | CU_MEMHOSTALLOC_WRITECOMBINED);
  EXPECT_EQ(flags_of(d.data()), always | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED);
}

TEST_F(FakeHostMemory, WhatIsDroppedIsUsedAgainWithoutTheDriver) {
  { const PinnedVector<int> first(1000); }
  const auto before = shim::calls(DriverFunction::MemHostAlloc);
  for (int i = 0; i < 10; ++i) const PinnedVector<int> again(1000);
  EXPECT_EQ(shim::calls(DriverFunction::MemHostAlloc), before);
  detail::trim_host_memory(get_current_device());
  EXPECT_LE(fake::live().host_blocks, before_);
}

TEST_F(FakeHostMemory, ADriverWithoutMemoryIsAMemoryErrorAndNothingLeaks) {
  shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY,
                .function = DriverFunction::MemHostAlloc,
                .persistent = true});
  EXPECT_THROW(PinnedVector<int>(1000), MemoryError);
  shim::clear_faults();
  EXPECT_LE(fake::live().host_blocks, before_);
  EXPECT_EQ(PinnedVector<int>(1000, 4).back(), 4);
}

TEST_F(FakeHostMemory, AResetGivesBackWhatIsCachedAndRefusesWhatIsInUse) {
  const Device second = Device::cuda(1);
  const PinnedAllocator<int> there({}, second);
  {
    PinnedVector<int> a(1000, 1, there);
    EXPECT_THROW(second.reset(), LogicError);
    a[5] = 3;
  }
  second.reset();
  const PinnedVector<int> b(1000, 4, there);  // not the memory that went with the context
  EXPECT_EQ(b.back(), 4);
  EXPECT_EQ(flags_of(const_cast<int*>(b.data())) & CU_MEMHOSTALLOC_PORTABLE, 0u);
}

TEST_F(FakeHostMemory, BytesAreToldOnceAndNoOthers) {
  std::vector<std::byte, AlignedAllocator<std::byte>> pages(8 * 4096);
  const auto calls = [] { return shim::calls(DriverFunction::MemHostRegister); };
  const RegisteredHostMemory a(pages.data() + 4096, 100);
  EXPECT_EQ(calls(), 1);
  const RegisteredHostMemory again(pages.data() + 4100, 90), neighbour(pages.data() + 5000, 100);
  EXPECT_EQ(calls(), 2);
  const RegisteredHostMemory all(pages.data(), 3 * 4096);  // before, between and after
  EXPECT_EQ(calls(), 5);
  EXPECT_EQ(fake::live().registrations, 5u);
  const auto piece = Device().backend().pointer_info(pages.data() + 4100);
  EXPECT_EQ(piece.base, reinterpret_cast<std::uintptr_t>(pages.data() + 4096));
  EXPECT_EQ(piece.bytes, 100u);
}

TEST_F(FakeHostMemory, AFailedRegistrationLeavesNothing) {
  std::vector<int> a(3000), b(3000), c(3000);
  for (int nth = 1; nth <= 3; ++nth) {
    shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY,
                  .function = DriverFunction::MemHostRegister,
                  .nth = nth,
                  .persistent = true});
    EXPECT_THROW(static_cast<void>(pinned(a, b, c)), MemoryError);
    shim::clear_faults();
    EXPECT_EQ(fake::live().registrations, 0u);
    EXPECT_EQ(detail::find_host_buffer(a.data(), 4), nullptr);
  }
  EXPECT_NO_THROW(static_cast<void>(pinned(a, b, c)));
  EXPECT_EQ(fake::live().registrations, 0u);
}

TEST_F(FakeHostMemory, MemoryThatTheDriverRefusesToLockIsNamed) {
  std::vector<char> host(1000);
  shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::MemHostRegister});
  try {
    const RegisteredHostMemory locked(host.data(), host.size());
    ADD_FAILURE() << "registered";
  } catch (const LogicError& e) {
    const auto address = reinterpret_cast<std::uintptr_t>(host.data());
    std::ostringstream text;
    text << "host memory [0x" << std::hex << address << ", 0x" << address + 1000 << ")";
    EXPECT_NE(std::string(e.what()).find(text.str()), std::string::npos) << e.what();
  }
  shim::clear_faults();
}

TEST_F(FakeHostMemory, OnePieceOfAPartialRegistrationFails) {
  std::vector<std::byte, AlignedAllocator<std::byte>> pages(5 * 4096);
  const RegisteredHostMemory middle(pages.data() + 2 * 4096, 1);
  shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY,
                .function = DriverFunction::MemHostRegister,
                .nth = 2,
                .persistent = true});
  EXPECT_THROW(RegisteredHostMemory(pages.data(), pages.size()), Error);
  shim::clear_faults();
  EXPECT_EQ(fake::live().registrations, 1u);
}

TEST_F(FakeHostMemory, AnotherDeviceNeedsPortablePages) {
  std::vector<int> a(3000);
  const Device second = Device::cuda(1);
  {
    const RegisteredHostMemory first(a.data(), 400);
    EXPECT_THROW(RegisteredHostMemory(a.data(), 400, {.device = second}), LogicError);
  }
  const RegisteredHostMemory first(a.data(), 400, {.portable = true});
  EXPECT_NO_THROW(RegisteredHostMemory(a.data(), 400, {.device = second}));
}

}  // namespace
}  // namespace quarry
