// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <functional>

#include <quarry/base/error.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "fake_driver/shim.hpp"

/// Every call of the driver fails once, and then for good: the error is typed, nothing is lost, and
/// the next operation works.
namespace quarry::backend {
namespace {

using namespace kernels;
namespace shim = cuda::shim;

constexpr int count = 100000;
using Twice = map_of<op<multiply_op, int, in<int, 0>, val<int, 0>>, int, 1, int>;
using Total = reduction_of<in<int, 0>, sum_of, i64, i64, 0, int>;

/// Allocates, copies in, doubles, sums in splits, copies out and frees; on a stream of its own.
i64 workload(Device& gpu, const std::vector<int>& values) {
  struct Owned {
    Device& gpu;
    Stream stream;
    ~Owned() { gpu.destroy_stream(stream); }
  } const owned{gpu, gpu.create_stream({})};
  const OnDevice<int> in(gpu, values), twice(gpu, std::vector<int>(values.size()));
  const OnDevice<i64> out(gpu, {0});
  const auto n = static_cast<i64>(values.size());
  gpu.launch(test::flat_call(program_for<Twice>::value, n, {twice.data(), in.data()}, 2),
             no_workspace(), owned.stream);
  KernelCall call =
      test::call_of(program_for<Total>::value, {}, {n}, {{out.data()}, {twice.data(), {4}}});
  call.along_reduced = true;
  DeviceWorkspace workspace(gpu);
  gpu.launch(call, workspace, owned.stream);
  return out.values(owned.stream)[0];
}

class FakeFaults : public OverFake {
 protected:
  static std::vector<int> values() {
    std::vector<int> result(count);
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  static constexpr i64 expected = i64{count} * (count - 1);

  /// Runs the workload with the k-th driver call failing, for every k; how many of the runs threw.
  int sweep(CUresult code, bool is_persistent) {
    const std::vector<int> input = values();
    EXPECT_EQ(workload(gpu(), input), expected);
    shim::reset_counts();
    workload(gpu(), input);
    const std::int64_t calls = shim::calls();
    int thrown = 0;
    for (std::int64_t k = 1; k <= calls; ++k) {
      const fake::Live before = fake::live();
      shim::inject({.code = code, .nth = k, .persistent = is_persistent});
      thrown += throws([&] { EXPECT_EQ(workload(gpu(), input), expected); });
      shim::clear_faults();
      const fake::Live after = fake::live();
      EXPECT_TRUE(is_persistent || lost(before, after) <= 1) << "call " << k;
      EXPECT_EQ(workload(gpu(), input), expected) << "after the failure of call " << k;
    }
    test::forgive_leaks();
    return thrown;
  }

 private:
  static bool throws(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error&) {
      return true;
    } catch (const std::bad_alloc&) {
      return true;
    }
    return false;
  }
  /// A failed cuMemFree or cuStreamDestroy keeps the one thing that it was to destroy.
  static std::size_t lost(const fake::Live& before, const fake::Live& after) {
    return (after.streams - before.streams) + (after.events - before.events) +
           (after.device_blocks - before.device_blocks);
  }
};

TEST_F(FakeFaults, OneCallFails) { EXPECT_GT(sweep(CUDA_ERROR_UNKNOWN, false), 10); }
TEST_F(FakeFaults, OneCallIsOutOfMemory) { EXPECT_GT(sweep(CUDA_ERROR_OUT_OF_MEMORY, false), 10); }
TEST_F(FakeFaults, AllCallsFromOneOnFail) { EXPECT_GT(sweep(CUDA_ERROR_UNKNOWN, true), 10); }

TEST_F(FakeFaults, NothingIsLostWhenWhatFailsDestroysNothing) {
  using enum cuda::DriverFunction;
  const std::vector<int> input = values();
  workload(gpu(), input);
  const fake::Live before = fake::live();
  for (const auto function : {MemAlloc, MemcpyHtoD, MemcpyDtoHAsync, StreamCreateWithPriority,
                              StreamSynchronize, LaunchKernel}) {
    for (std::int64_t k = 1; k <= 3; ++k) {
      shim::inject({.code = CUDA_ERROR_UNKNOWN, .function = function, .nth = k});
      try {
        workload(gpu(), input);
      } catch (const RuntimeError& e) {
        EXPECT_NE(std::string(e.what()).find("CUDA_ERROR_UNKNOWN"), std::string::npos);
      }
      shim::clear_faults();
      EXPECT_TRUE(fake::live() == before) << static_cast<int>(function) << " call " << k;
    }
  }
}

TEST_F(FakeFaults, ALaunchThatIsRefusedIsALaunchError) {
  shim::inject(
      {.code = CUDA_ERROR_INVALID_VALUE, .function = cuda::DriverFunction::LaunchKernelEx});
  EXPECT_THROW(workload(gpu(), values()), LaunchError);
}

}  // namespace
}  // namespace quarry::backend
