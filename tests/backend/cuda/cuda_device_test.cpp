// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <quarry/base/error.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/fake_device.hpp"
#include "fake_driver/shim.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using Values = std::vector<float>;

/// A GPU, or the fake of one, with buffers that are freed at the end of the test.
class cuda_device : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device: " << cuda_status().why;
    gpu_ = cuda_devices().front().get();
  }
  void TearDown() override {
    for (void* buffer : buffers_) gpu_->free(buffer, 0);
  }
  void* buffer(std::size_t bytes) { return buffers_.emplace_back(gpu_->allocate(bytes)); }
  void* uploaded(const Values& values) {
    void* to = buffer(4 * values.size());
    gpu_->copy({Direction::host_to_device, to, values.data(), 4 * values.size()}, nullptr, true);
    return to;
  }
  Values downloaded(const void* from, std::size_t count) {
    Values values(count);
    gpu_->copy({Direction::device_to_host, values.data(), from, 4 * count}, nullptr, true);
    return values;
  }

  Device* gpu_ = nullptr;

 private:
  std::vector<void*> buffers_;
};

Values counting(std::size_t n, float first = 0) {
  Values values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// a + s * b
using axpy =
    map_of<op<add_op, float, in<float, 0>, op<multiply_op, float, val<float, 0>, in<float, 1>>>,
           float, 1, float, float>;
const program& axpy_program = program_for<axpy>::value;
const program& sum_program =
    program_for<reduction_of<in<float, 0>, sum_of, float, float, 0, float>>::value;

TEST_F(cuda_device, describes_itself) {
  EXPECT_FALSE(gpu_->info().name.empty());
  EXPECT_EQ(gpu_->info().id, 0);
  EXPECT_FALSE(gpu_->info().is_cpu);
  EXPECT_GE(gpu_->info().compute_capability.first, 5);
  EXPECT_EQ(gpu_->attributes().at("WARP_SIZE"), 32);
  EXPECT_GE(gpu_->memory_info().total, gpu_->memory_info().free);
  EXPECT_TRUE(gpu_->can_access_peer(*gpu_));
  EXPECT_FALSE(gpu_->can_access_peer(cpu()));
}

TEST_F(cuda_device, flat_maps_of_any_size_and_alignment) {
  for (const std::size_t n : {1u, 3u, 4u, 255u, 1024u, 1025u, 100003u}) {
    for (const std::size_t offset : {0u, 1u, 2u}) {
      const Values a = counting(n + offset), b = counting(n + offset, 1);
      char *da = static_cast<char*>(uploaded(a)), *db = static_cast<char*>(uploaded(b));
      char* out = static_cast<char*>(buffer(4 * n));
      const auto size = static_cast<std::int64_t>(n);
      gpu_->launch(
          test::flat_call(axpy_program, size, {out, da + 4 * offset, db + 4 * offset}, 2.f),
          no_workspace(), nullptr);
      const Values result = downloaded(out, n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], a[i + offset] + 2 * b[i + offset]);
    }
  }
}

TEST_F(cuda_device, strided_maps_read_transposes_and_broadcasts) {
  const std::int64_t rows = 37, columns = 53, n = rows * columns;
  const Values a = counting(static_cast<std::size_t>(n)),
               b = counting(static_cast<std::size_t>(columns));
  void *da = uploaded(a), *db = uploaded(b), *out = buffer(static_cast<std::size_t>(4 * n));
  gpu_->launch(test::call_of(axpy_program, {rows, columns}, {},
                             {{out, {4 * columns, 4}}, {da, {4, 4 * rows}}, {db, {0, 4}}}, 0.5f),
               no_workspace(), nullptr);
  const Values result = downloaded(out, static_cast<std::size_t>(n));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
      ASSERT_EQ(result[at(r * columns + c)], a[at(c * rows + r)] + 0.5f * b[at(c)]);
    }
  }
}

/// Sums over the last axis of a (kept, reduced) array, or over the first of a (reduced, kept) one.
KernelCall sum_call(void* out, void* in, std::int64_t kept, std::int64_t reduced, bool along) {
  const std::int64_t kept_stride = along ? 4 * reduced : 4, reduced_stride = along ? 4 : 4 * kept;
  KernelCall call = test::call_of(sum_program, {kept}, {reduced},
                                  {{out, {4}}, {in, {kept_stride, reduced_stride}}});
  call.along_reduced = along;
  return call;
}

TEST_F(cuda_device, sums_along_and_across_with_and_without_splits) {
  struct Case {
    std::int64_t kept, reduced;
  };
  for (const auto [kept, reduced] :
       {Case{1, 1}, Case{1, 300000}, Case{7, 65}, Case{1000, 3}, Case{3, 20000}, Case{300, 300}}) {
    for (const bool along : {true, false}) {
      const auto n = static_cast<std::size_t>(kept * reduced);
      const Values ones(n, 1.f);
      void *in = uploaded(ones), *out = buffer(static_cast<std::size_t>(4 * kept));
      DeviceWorkspace workspace(*gpu_);
      gpu_->launch(sum_call(out, in, kept, reduced, along), workspace, nullptr);
      for (const float sum : downloaded(out, static_cast<std::size_t>(kept))) {
        ASSERT_EQ(sum, static_cast<float>(reduced)) << kept << " " << reduced << " " << along;
      }
    }
  }
}

TEST_F(cuda_device, large_sums_are_split_and_refuse_to_run_without_workspace) {
  void *in = uploaded(Values(1 << 20, 1.f)), *out = buffer(4);
  const KernelCall call = sum_call(out, in, 1, 1 << 20, true);
  EXPECT_THROW(gpu_->launch(call, no_workspace(), nullptr), LogicError);
  DeviceWorkspace workspace(*gpu_);
  gpu_->launch(call, workspace, nullptr);
  EXPECT_GT(workspace.bytes(), 0u);
  EXPECT_EQ(downloaded(out, 1)[0], float(1 << 20));
}

TEST_F(cuda_device, fills_patterns_of_every_size) {
  const unsigned char bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const unsigned char equal[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  const unsigned char pairs[16] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2};
  for (const unsigned char* pattern : {bytes, equal, pairs}) {
    for (const std::size_t size : {1u, 2u, 4u, 8u, 16u}) {
      for (const std::size_t count : {1u, 1000u, 5001u}) {
        void* to = buffer(size * count);
        gpu_->fill(to, pattern, size, static_cast<std::int64_t>(count), nullptr);
        std::vector<unsigned char> result(size * count);
        gpu_->copy({Direction::device_to_host, result.data(), to, result.size()}, nullptr, true);
        for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], pattern[i % size]);
      }
    }
  }
}

TEST_F(cuda_device, rectangles_go_both_ways_and_across) {
  const std::size_t rows = 19, row = 4 * 11, pitch = 4 * 16;
  const Values a = counting(rows * 16);
  void *first = buffer(rows * row), *second = buffer(rows * pitch);
  gpu_->copy({Direction::host_to_device, first, a.data(), row, rows, row, pitch}, nullptr, false);
  gpu_->copy({Direction::device_to_device, second, first, row, rows, pitch, row}, nullptr, false);
  Values back(rows * 16, -1.f);
  gpu_->copy({Direction::device_to_host, back.data(), second, row, rows, pitch, pitch}, nullptr,
             true);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], i % 16 < 11 ? a[i] : -1.f);
}

TEST_F(cuda_device, one_row_may_be_repeated) {
  const Values a = counting(8);
  void* to = buffer(4 * 8 * 5);
  gpu_->copy({Direction::host_to_device, to, a.data(), 32, 5, 32, 0}, nullptr, true);
  const Values result = downloaded(to, 40);
  for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(result[i], a[i % 8]);
}

TEST_F(cuda_device, streams_events_and_host_calls_are_ordered) {
  const Stream s = gpu_->create_stream(StreamOrder::independent, -1000);
  const Event start = gpu_->create_event({}), end = gpu_->create_event({});
  EXPECT_TRUE(gpu_->query(start));
  int value = 0;
  gpu_->record(start, s);
  gpu_->host_call(
      s, [](void* state) { *static_cast<int*>(state) = 1; }, &value);
  gpu_->record(end, s);
  gpu_->wait(gpu_->legacy_stream(), end);
  gpu_->wait(end);
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(gpu_->query(end));
  EXPECT_GE(gpu_->elapsed_ms(start, end), 0.f);
  gpu_->synchronize(s);
  EXPECT_TRUE(gpu_->is_done(s));
  gpu_->destroy_event(start);
  gpu_->destroy_event(end);
  gpu_->destroy_stream(s);
}

TEST_F(cuda_device, memory_that_is_not_there_is_a_null_pointer) {
  EXPECT_EQ(gpu_->allocate(std::size_t{1} << 50), nullptr);
  EXPECT_NE(buffer(1), nullptr);
}

using doubled = map_of<op<add_op, float, in<float, 0>, in<float, 0>>, float, 0, float>;
using tripled = map_of<op<multiply_op, float, in<float, 0>, val<float, 0>>, float, 1, float>;

TEST_F(cuda_device, threads_that_want_one_kernel_compile_it_once) {
  void *in = uploaded(counting(64)), *out = buffer(256);
  const auto before = kernel_cache_statistics();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      gpu_->launch(test::flat_call(program_for<doubled>::value, 64, {out, in}), no_workspace(),
                   nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  gpu_->synchronize();
  const auto after = kernel_cache_statistics();
  EXPECT_EQ(after.compiled + after.disk_hits, before.compiled + before.disk_hits + 1);
}

TEST_F(cuda_device, a_call_that_fails_can_be_made_again) {
  if (cuda::shim::calls() == 0) GTEST_SKIP() << "not over the shim";
  void *in = uploaded(counting(64)), *out = buffer(256);
  const KernelCall call = test::flat_call(program_for<tripled>::value, 64, {out, in}, 3.f);
  using cuda::DriverFunction;
  const bool is_early = gpu_->info().compute_capability.first >= 9;
  const auto launch = is_early ? DriverFunction::LaunchKernelEx : DriverFunction::LaunchKernel;
  for (const auto function : {DriverFunction::ModuleLoadDataEx, launch}) {
    cuda::shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = function});
    EXPECT_THROW(gpu_->launch(call, no_workspace(), nullptr), MemoryError);
  }
  cuda::shim::clear_faults();
  gpu_->launch(call, no_workspace(), nullptr);
  EXPECT_EQ(downloaded(out, 64)[5], 15.f);
}

TEST_F(cuda_device, machine_code_that_the_driver_refuses_is_a_compile_error_once) {
  if (cuda::shim::calls() == 0) GTEST_SKIP() << "not over the shim";
  using map = map_of<op<subtract_op, float, in<float, 0>, val<float, 0>>, float, 1, float>;
  void *in = uploaded(counting(64)), *out = buffer(256);
  const KernelCall call = test::flat_call(program_for<map>::value, 64, {out, in}, 3.f);
  cuda::shim::inject({.code = CUDA_ERROR_NO_BINARY_FOR_GPU,
                      .function = cuda::DriverFunction::ModuleLoadDataEx,
                      .persistent = true});
  EXPECT_THROW(gpu_->launch(call, no_workspace(), nullptr), CompileError);
  cuda::shim::clear_faults();
  gpu_->launch(call, no_workspace(), nullptr);
  EXPECT_EQ(downloaded(out, 64)[5], 2.f);
}

using negated = map_of<op<subtract_op, float, val<float, 0>, in<float, 0>>, float, 1, float>;

void run_a_map(Device& gpu) {
  const Values values = counting(64);
  void *in = gpu.allocate(256), *out = gpu.allocate(256);
  gpu.copy({Direction::host_to_device, in, values.data(), 256}, nullptr, true);
  gpu.launch(test::flat_call(program_for<negated>::value, 64, {out, in}, 0.f), no_workspace(),
             nullptr);
  Values result(64);
  gpu.copy({Direction::device_to_host, result.data(), out, 256}, nullptr, true);
  gpu.free(in, 256);
  gpu.free(out, 256);
  EXPECT_EQ(result[5], -5.f);
}

TEST_F(cuda_device, a_reset_device_starts_anew) {
  if (cuda::shim::calls() == 0) GTEST_SKIP() << "not over the shim";
  if (cuda_devices().size() < 2) GTEST_SKIP() << "needs a device of its own";
  Device& other = *cuda_devices().back();
  run_a_map(other);
  const auto before = kernel_cache_statistics();
  other.reset();
  run_a_map(other);
  const auto after = kernel_cache_statistics();
  EXPECT_EQ(after.compiled + after.disk_hits, before.compiled + before.disk_hits + 1);
}

/// In a process of its own: 0 when every call after the fatal one reports its cause.
int lose_the_device(Device& gpu) {
  cuda::shim::inject(
      {.code = CUDA_ERROR_ILLEGAL_ADDRESS, .function = cuda::DriverFunction::StreamSynchronize});
  int lost = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      gpu.synchronize(gpu.legacy_stream());
    } catch (const DeviceLost& e) {
      lost += std::string(e.what()).find("(700)") != std::string::npos;
    }
  }
  const std::int64_t before = cuda::shim::calls();
  gpu.free(&lost, 4);  // must not reach the driver
  gpu.destroy_stream(&lost);
  return lost == 2 && cuda::shim::calls() == before ? 0 : 1;
}

TEST_F(cuda_device, a_fatal_error_is_remembered_and_destructors_stay_silent) {
  if (cuda::shim::calls() == 0) GTEST_SKIP() << "not over the shim";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked process cannot use the device
  EXPECT_EXIT(std::_Exit(lose_the_device(*gpu_)), ::testing::ExitedWithCode(0), "");
}

TEST_F(cuda_device, what_is_made_through_the_shim_is_known) {
  if (cuda::shim::calls() == 0) GTEST_SKIP() << "not over the shim";
  const auto before = cuda::shim::live();
  void* memory = gpu_->allocate(1000);
  const Stream stream = gpu_->create_stream({});
  auto after = cuda::shim::live();
  EXPECT_EQ(after.device_blocks, before.device_blocks + 1);
  EXPECT_EQ(after.device_bytes, before.device_bytes + 1000);
  EXPECT_EQ(after.streams, before.streams + 1);
  gpu_->free(memory, 1000);
  gpu_->destroy_stream(stream);
  EXPECT_EQ(cuda::shim::live(), before);
}

}  // namespace
}  // namespace quarry::backend
