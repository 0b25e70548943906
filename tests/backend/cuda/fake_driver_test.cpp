// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_table.hpp"

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "backend/cuda/jit/nvrtc.hpp"

namespace quarry::fake {
namespace {

TEST_F(FakeDriver, WorkWaitsForSomebodyToWait) {
  const CUstream s = stream();
  set(7, s);
  EXPECT_EQ(pending(), 1U);
  EXPECT_EQ(cu().StreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 7);
}

TEST_F(FakeDriver, PollingMakesProgress) {
  set_behaviour({.eagerness = 0});
  const CUstream s = stream();
  for (int i = 0; i < 5; ++i) set(1, s);
  int polls = 0;
  while (cu().StreamQuery(s) == CUDA_ERROR_NOT_READY) ASSERT_LT(++polls, 100);
}

TEST_F(FakeDriver, AStreamKeepsItsOrderAndStreamsHaveNone) {
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    behave(seed);
    const CUstream a = stream(), b = stream();
    set(1, a), set(2, a), set(3, b), set(4, b);
    const int last = byte();
    EXPECT_TRUE(last == 2 || last == 4) << last;
    seen.insert(last);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(FakeDriver, AStreamWaitsForWhatTheEventSawAtTheCall) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    behave(seed);
    const CUstream a = stream(), b = stream();
    const CUevent e = event(CU_EVENT_DISABLE_TIMING);
    EXPECT_EQ(cu().StreamWaitEvent(b, e, 0), CUDA_SUCCESS);  // never recorded: nothing to wait for
    set(1, a);
    EXPECT_EQ(cu().EventRecord(e, a), CUDA_SUCCESS);
    EXPECT_EQ(cu().StreamWaitEvent(b, e, 0), CUDA_SUCCESS);
    set(2, b);
    EXPECT_EQ(byte(), 2);
  }
}

TEST_F(FakeDriver, AnEventMayBeDestroyedWhileAStreamWaitsForIt) {
  const CUstream a = stream(), b = stream();
  CUevent e = nullptr;
  ASSERT_EQ(cu().EventCreate(&e, 0), CUDA_SUCCESS);
  set(1, a);
  cu().EventRecord(e, a);
  cu().StreamWaitEvent(b, e, 0);
  set(2, b);
  EXPECT_EQ(cu().EventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cu().EventQuery(e), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cu().StreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 2);
}

TEST_F(FakeDriver, TheDefaultStreamIsOrderedWithBlockingStreams) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    behave(seed);
    const CUstream a = stream();
    for (const CUstream blocking : {a, CU_STREAM_PER_THREAD}) {
      set(1, blocking), set(2, nullptr), set(3, blocking);
      EXPECT_EQ(byte(), 3);
      set(4, nullptr), set(5, blocking), set(6, CU_STREAM_LEGACY);
      EXPECT_EQ(byte(), 6);
    }
  }
}

TEST_F(FakeDriver, TheDefaultStreamIsNotOrderedWithNonBlockingStreams) {
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    behave(seed);
    set(1, nullptr), set(2, stream(CU_STREAM_NON_BLOCKING));
    seen.insert(byte());
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2}));
}

TEST_F(FakeDriver, WaitingForTheDefaultStreamWaitsForTheBlockingOnes) {
  const CUstream blocking = stream(), other = stream(CU_STREAM_NON_BLOCKING);
  set(1, blocking);
  EXPECT_EQ(cu().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu().StreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamQuery(blocking), CUDA_SUCCESS);
  set(1, other);
  EXPECT_EQ(cu().StreamQuery(nullptr), CUDA_SUCCESS);
}

TEST_F(FakeDriver, PageableMemoryIsReadAtTheCallAndPinnedMemoryLater) {
  const CUstream s = stream();
  unsigned char pageable = 5;
  void* pinned = nullptr;
  ASSERT_EQ(cu().MemHostAlloc(&pinned, 1, 0), CUDA_SUCCESS);
  auto& source = *static_cast<unsigned char*>(pinned) = 5;
  EXPECT_EQ(cu().MemcpyHtoDAsync(memory_, &pageable, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemcpyHtoDAsync(memory_ + 1, pinned, 1, s), CUDA_SUCCESS);
  pageable = source = 6;
  EXPECT_EQ(byte(0), 5);
  EXPECT_EQ(byte(1), 6);
  EXPECT_EQ(cu().MemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(FakeDriver, ACopyToPageableMemoryReturnsWhenItIsDone) {
  const CUstream s = stream();
  set(9, s);
  unsigned char pageable = 0;
  EXPECT_EQ(cu().MemcpyDtoHAsync(&pageable, memory_, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(pageable, 9);
}

TEST_F(FakeDriver, RowsAreCopiedByTheirPitches) {
  std::array<unsigned char, 12> from{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = from.data(), copy.srcPitch = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = memory_, copy.dstPitch = 10;
  copy.WidthInBytes = 2, copy.Height = 3;
  EXPECT_EQ(cu().Memcpy2DAsync(&copy, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(byte(0), 0);
  EXPECT_EQ(byte(11), 5);
  EXPECT_EQ(byte(21), 9);
  EXPECT_EQ(byte(2), 0xFB);
  copy.dstPitch = 1;
  EXPECT_EQ(cu().Memcpy2DAsync(&copy, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FakeDriver, NothingLeavesTheMemoryThatIsThere) {
  std::array<unsigned char, 8> host{};
  EXPECT_EQ(cu().MemcpyHtoD(memory_ + bytes - 4, host.data(), 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemcpyDtoH(host.data(), 0x1000, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemsetD32Async(memory_ + bytes - 4, 0, 2, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemsetD32Async(memory_ + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemFree(memory_ + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_faults().size(), 5U);
}

TEST_F(FakeDriver, MemoryIsPoisonedAndCounted) {
  std::size_t before = 0, after = 0, total = 0;
  cu().MemGetInfo(&before, &total);
  CUdeviceptr block = 0, none = 0;
  ASSERT_EQ(cu().MemAlloc(&block, 1000), CUDA_SUCCESS);
  EXPECT_EQ(block % 256, 0U);
  cu().MemGetInfo(&after, &total);
  EXPECT_EQ(before - after, 1024U);
  EXPECT_EQ(cu().MemAlloc(&none, after + 1), CUDA_ERROR_OUT_OF_MEMORY);
  unsigned char value = 0;
  cu().MemcpyDtoH(&value, block + 999, 1);
  EXPECT_EQ(value, 0xFB);
  EXPECT_EQ(cu().MemFree(block), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFree(block), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_faults().size(), 1U);
}

TEST_F(FakeDriver, WorkOnFreedMemoryLosesTheDeviceUntilItIsReset) {
  set_behaviour({.eagerness = 0, .free_waits = false});
  const CUstream s = stream();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu().MemAlloc(&block, 16), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemsetD8Async(block, 1, 16, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFree(block), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu().MemAlloc(&block, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(take_faults().size(), 1U);
  EXPECT_EQ(cu().DevicePrimaryCtxReset(device), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cu().DevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cu().MemAlloc(&memory_, bytes), CUDA_SUCCESS);
  streams_.clear();
}

TEST_F(FakeDriver, HostFunctionsRunInOrderAndMayNotCallTheDriver) {
  struct Seen {
    std::vector<int> values;
    CUresult result = CUDA_SUCCESS;
  } seen;
  const CUstream s = stream();
  for (int i = 0; i < 2; ++i) {
    const auto call = [](void* state) {
      auto& all = *static_cast<Seen*>(state);
      all.values.push_back(static_cast<int>(all.values.size()));
      all.result = cu().CtxSynchronize();
    };
    EXPECT_EQ(cu().LaunchHostFunc(s, call, &seen), CUDA_SUCCESS);
  }
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(seen.values, (std::vector<int>{0, 1}));
  EXPECT_EQ(seen.result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(take_faults().size(), 2U);
}

TEST_F(FakeDriver, ElapsedTimeNeedsTwoFinishedEventsWithTiming) {
  const CUevent start = event(), end = event(), without = event(CU_EVENT_DISABLE_TIMING);
  float ms = -1;
  EXPECT_EQ(cu().EventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
  cu().EventRecord(start, nullptr);
  set(1, nullptr);
  cu().EventRecord(end, nullptr), cu().EventRecord(without, nullptr);
  EXPECT_EQ(cu().EventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu().EventSynchronize(without), CUDA_SUCCESS);
  EXPECT_EQ(cu().EventElapsedTime(&ms, start, end), CUDA_SUCCESS);
  EXPECT_GT(ms, 0);
  EXPECT_EQ(cu().EventElapsedTime(&ms, start, without), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(FakeDriver, InTheBackgroundWorkNeedsNobodyToWait) {
  set_behaviour({.background = true, .delay_us = 10});
  const CUstream s = stream();
  for (unsigned char i = 0; i < 100; ++i) set(i, s);
  while (cu().StreamQuery(s) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_EQ(byte(), 99);
}

TEST_F(FakeDriver, HandlesAreCounted) {
  const Live before = live();
  const CUstream s = stream();
  event();
  EXPECT_EQ(live().streams, before.streams + 1);
  EXPECT_EQ(live().events, before.events + 1);
  EXPECT_EQ(cu().StreamDestroy(s), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
  streams_.clear();
  EXPECT_EQ(take_faults().size(), 1U);
}

TEST_F(FakeDriver, EntryPointsCanBeMissing) {
  if (is_installed()) GTEST_SKIP() << "the machine is in use";
  set_machine({.missing = {"cuDeviceGetUuid"}});
  EXPECT_EQ(backend::cuda::load_driver(get_proc_address).table->DeviceGetUuid, nullptr);
  set_machine({.missing = {"cuMemAlloc"}});
  EXPECT_NE(backend::cuda::load_driver(get_proc_address).why.find("cuMemAlloc"), std::string::npos);
  set_machine({.driver_version = 10020});
  EXPECT_EQ(backend::cuda::load_driver(get_proc_address).table, nullptr);
  set_machine({.init = CUDA_ERROR_SYSTEM_NOT_READY});
  EXPECT_EQ(cu().Init(0), CUDA_ERROR_SYSTEM_NOT_READY);
  set_machine({});
  cu().Init(0);
  cu().DevicePrimaryCtxRetain(&context_, device);
  cu().CtxSetCurrent(context_);
  cu().MemAlloc(&memory_, bytes);
  current_ = nullptr;
}

class FakeCompiler : public testing::Test {
 protected:
  static nvrtcResult compile(const char* source, const char* kernel, const char* option) {
    const auto& rtc = nvrtc_table();
    nvrtcProgram program = nullptr;
    const char *name = "kernels/map.cuh", *text = "#pragma once";
    if (const nvrtcResult r = rtc.CreateProgram(&program, source, "k.cu", 1, &text, &name))
      return r;
    rtc.AddNameExpression(program, kernel);
    const nvrtcResult result = rtc.CompileProgram(program, 1, &option);
    rtc.DestroyProgram(&program);
    return result;
  }
  static constexpr const char* map = "#include \"kernels/map.cuh\"\n";
  static constexpr const char* flat = "quarry::kernels::map_flat<M<int, 2>, 4>";
};

TEST_F(FakeCompiler, WantsWhatTheRealOneWants) {
  EXPECT_EQ(compile(map, flat, "--gpu-architecture=sm_90"), NVRTC_SUCCESS);
  EXPECT_EQ(compile(map, flat, "--gpu-architecture=sm_91"), NVRTC_ERROR_INVALID_OPTION);
  EXPECT_EQ(compile("", flat, "--gpu-architecture=sm_90"), NVRTC_ERROR_INVALID_INPUT);
  for (const char* include : {"\"quarry/kernels/x.hpp\"", "\"kernels/x.cuh\""}) {
    const std::string source = map + ("#include " + std::string(include));
    EXPECT_EQ(compile(source.c_str(), flat, "--gpu-architecture=sm_90"), NVRTC_ERROR_COMPILATION)
        << include;
  }
  EXPECT_EQ(compile(map, "quarry::kernels::other<M>", "--gpu-architecture=sm_90"),
            NVRTC_ERROR_COMPILATION);
  EXPECT_EQ(compile(map, "quarry::kernels::reduce_finish<M, 1, 1>", "--gpu-architecture=sm_90"),
            NVRTC_ERROR_COMPILATION);
  EXPECT_EQ(
      compile(map, "quarry::kernels::map_flat<quarry_user_12, 1>", "--gpu-architecture=sm_90"),
      NVRTC_ERROR_COMPILATION);
}

TEST_F(FakeCompiler, FailsWhenToldTo) {
  set_compiler({.fails = true});
  EXPECT_EQ(compile(map, flat, "--gpu-architecture=sm_90"), NVRTC_ERROR_COMPILATION);
  set_compiler({});
  EXPECT_EQ(compile(map, flat, "--gpu-architecture=sm_90"), NVRTC_SUCCESS);
}

}  // namespace
}  // namespace quarry::fake
