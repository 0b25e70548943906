// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/quarry.hpp>

#include <atomic>
#include <thread>

#include "array/model.hpp"
#include "array/source_kernels.hpp"
#include "fake_driver/shim.hpp"
#include "gate.hpp"
#include "message_of.hpp"

namespace quarry {
namespace {

using test::counted;
using test::Line;
using test::message_of;
using test::SourceKernels;
using test::times;
using test::values;

TEST_F(SourceKernels, double_the_seeds_array) {
  const SourceModule mod(R"(
__global__ void twice(float* a) {
  a[threadIdx.x + blockDim.x * threadIdx.y] *= 2;
})");
  const auto a = to_device(counted(16)).reshape({4, 4});
  const Function twice = mod.get_function("twice");
  twice({.block = {4, 4}}, a);
  EXPECT_EQ(values(a), times(counted(16), 2));
  twice.launch({.grid = 1, .block = 16}, a);
  EXPECT_EQ(values(a), times(counted(16), 4));
  EXPECT_EQ(twice.name(), "twice");
  EXPECT_EQ(twice.device(), Device());
  EXPECT_EQ(mod.device(), Device());
}

TEST_F(SourceKernels, take_numbers_structs_and_memory) {
  const Function lines = module().function("lines");
  const int n = 1000;
  const auto x = to_device(counted(n));
  const DeviceNDArray<const float> readable = x;
  const auto out = zeros<double>({n});
  const Line line{1.5, 0.25f, -1};
  lines.launch({.grid = 8, .block = 128}, out, readable, line, n, true);
  std::vector<double> want;
  for (const float v : counted(n)) want.push_back(1.5 * double{v} + 0.25);
  EXPECT_EQ(values(out), want);

  DeviceAllocation memory = mem_alloc(n * sizeof(float));
  memcpy_htod(memory, counted(n));
  lines.launch({.grid = 8, .block = 128}, DevicePtr(out) + 8, DevicePtr(memory) + 4, line, n - 1,
               false);
  for (std::size_t i = 1; i < std::size_t{n}; ++i) want[i] = -want[i];
  EXPECT_EQ(values(out), want);
}

TEST_F(SourceKernels, take_host_arrays) {
  const Function lines = module().function("lines");
  const std::vector<float> x = counted(100);
  std::vector<double> out(100, -1);
  lines.launch({.grid = 1, .block = 128}, Out(out), In(x), Line{2, 0, 1}, 90, false);
  for (std::size_t i = 0; i < 90; ++i) ASSERT_EQ(out[i], 2 * (double(i) + 1));

  std::vector<float> both = counted(16);
  module().function("twice").launch({.block = 16}, InOut(both));
  EXPECT_EQ(both, times(counted(16), 2));
}

TEST_F(SourceKernels, check_count_size_and_extents) {
  const Module mod = module();
  const Function twice = mod.function("twice"), lines = mod.function("lines");
  const auto a = to_device(counted(16));
  EXPECT_EQ(message_of<LogicError>([&] { twice.launch({.block = 16}, a, 1); }),
            "the kernel twice has 1 parameters, not 2");
  EXPECT_EQ(message_of<LogicError>([&] { twice.launch({.block = 16}); }),
            "the kernel twice has 1 parameters, not 0");
  EXPECT_EQ(message_of<LogicError>(
                [&] { lines.launch({.block = 16}, a, a, Line{}, std::int64_t{16}, true); }),
            "the kernel lines: argument 3 (from 0) has 8 bytes, the parameter 4");
  EXPECT_EQ(message_of<LogicError>([&] { twice.launch({.grid = 0, .block = 16}, a); }),
            "the kernel twice: a grid of (0, 1, 1) is not within (1, 1, 1) and (2147483647, 65535, "
            "65535)");
  EXPECT_EQ(message_of<LogicError>([&] {
              twice.launch({.block = {16, -1}}, a);
            }),
            "the kernel twice: a block of (16, -1, 1) is not within (1, 1, 1) and (1024, 1024, "
            "64)");
  const std::string refused = message_of<LaunchError>([&] {
    twice.launch({.block = {1024, 2}}, a);
  });
  EXPECT_TRUE(
      refused.starts_with("the kernel twice with a grid of (1, 1, 1), blocks of (1024, 2, "
                          "1) and 0 bytes of dynamic shared memory: "))
      << refused;
  twice.launch({.block = 16}, a);
  EXPECT_EQ(values(a), times(counted(16), 2));
}

TEST_F(SourceKernels, refuse_memory_and_streams_of_other_devices) {
  const Function twice = module().function("twice");
  const auto host = full<float>({16}, 1, {.device = Device::cpu()});
  EXPECT_EQ(message_of<LogicError>([&] { twice.launch({.block = 16}, host); }),
            "the kernel twice is loaded on cuda:0, the stream is one of cpu");
  EXPECT_EQ(message_of<LogicError>(
                [&] { twice.launch({.block = 16, .stream = default_stream()}, host); }),
            "the kernel twice is loaded on cuda:0, argument 0 (from 0) lies on cpu");
}

TEST_F(SourceKernels, run_in_the_stream_of_the_arrays_of_the_guard_or_their_own) {
  const Function twice = module().function("twice");
  const Stream of_array, given = stream(), guarded = stream({.non_blocking = true});
  const auto a = to_device(counted(16), {.stream = stream({.non_blocking = true})});
  {
    test::Gate gate(a.stream());
    twice.launch({.block = 16}, a);
    EXPECT_FALSE(a.stream().is_done());
  }
  EXPECT_EQ(values(a), times(counted(16), 2));
  a.stream().synchronize();
  {
    test::Gate gate(guarded);
    const StreamGuard guard(guarded);
    twice.launch({.block = 16}, a);
    EXPECT_TRUE(a.stream().is_done());
    EXPECT_FALSE(guarded.is_done());
  }
  guarded.synchronize();
  {
    test::Gate gate(given);
    const StreamGuard guard(guarded);
    twice.launch({.block = 16, .stream = given}, a);
    EXPECT_TRUE(guarded.is_done());
    EXPECT_FALSE(given.is_done());
  }
  given.synchronize();
  EXPECT_EQ(values(a), times(counted(16), 8));
}

TEST_F(SourceKernels, keep_module_and_memory_until_they_are_done) {
  const Stream in = stream({.non_blocking = true});
  const auto result = to_device(counted(16)), other = to_device(counted(16));
  const auto sum_of_others = [] { return sum(full<double>({64}, 1)).item(); };
  {
    std::optional<Module> mod = module();
    std::optional<Function> twice = mod->function("twice"), lines = mod->function("lines");
    std::optional<DeviceNDArray<double>> out = zeros<double>({64});
    std::optional<DeviceNDArray<float>> x = to_device(counted(64));
    // the driver loads kernels at their first launch, and may wait for the device then
    ASSERT_EQ(sum_of_others(), 64);
    twice->launch({.block = 16}, other);
    lines->launch({.block = 64}, *out, *x, Line{}, 64, true);
    synchronize();
    test::Gate gate(in);
    lines->launch({.block = 64, .stream = in}, *out, *x, Line{}, 64, true);
    twice->launch({.block = 16, .stream = in}, result);
    out.reset(), x.reset(), lines.reset(), twice.reset(), mod.reset();
    for (int round = 0; round < 4; ++round) {  // memory of that size, were it free
      ASSERT_EQ(sum_of_others(), 64);
    }
  }
  in.synchronize();
  EXPECT_EQ(values(result), times(counted(16), 2));
}

TEST_F(SourceKernels, choose_their_blocks) {
  const Function lines = module().function("lines"), idle = module().function("idle");
  const int n = 3000;
  const auto x = to_device(counted(n));
  const auto out = zeros<double>({n});
  lines.forall(n)(out, x, Line{1, 0, 1}, n, false);
  EXPECT_EQ(values(out), values(x.astype<double>()));
  lines.forall(n, {.block = 32})(out, x, Line{1, 1, 1}, n, false);
  EXPECT_EQ(values(out)[n - 1], n + 1);
  lines.forall(0)(out, x, Line{1, 5, 1}, n, false);
  EXPECT_EQ(values(out)[0], 2);
  EXPECT_THROW(lines.forall(-1), LogicError);
  idle.launch({.grid = 3});
  const int block = lines.best_block_size();
  EXPECT_GE(block, 32);
  EXPECT_GE(lines.blocks_per_multiprocessor(block), 1);
}

TEST_F(SourceKernels, have_attributes) {
  const Function lines = module().function("lines");
  EXPECT_GT(lines.num_regs(), 0);
  EXPECT_EQ(lines.shared_size_bytes(), 0);
  EXPECT_EQ(lines.local_size_bytes(), 0);
  EXPECT_EQ(lines.attribute(FunctionAttribute::max_threads_per_block), 1024);
  lines.set_attribute(FunctionAttribute::preferred_shared_memory_carveout, 50);
  EXPECT_EQ(lines.attribute(FunctionAttribute::preferred_shared_memory_carveout), 50);
  lines.set_cache_config(CacheConfig::prefer_l1);
  EXPECT_THROW(lines.set_attribute(FunctionAttribute::max_dynamic_shared_size_bytes, 1 << 20),
               Error);
}

TEST_F(SourceKernels, have_the_shared_memory_that_they_ask_for) {
  const Function reversed = module().function("reversed");
  const int n = 25000;
  const auto a = arange<int>(n);
  reversed.launch({.block = 1024, .shared = n * sizeof(int)}, a, n);
  EXPECT_EQ(values(a), values(eval(n - 1 - arange<int>(n))));
  EXPECT_THROW(reversed.launch({.block = 32, .shared = 1 << 20}, a, 1), Error);
  reversed.launch({.block = 32, .shared = 4}, a, 1);
  EXPECT_EQ(values(a)[0], n - 1);
  // what the program sets is no reason to ask for less
  reversed.set_attribute(FunctionAttribute::max_dynamic_shared_size_bytes, 4096);
  reversed.launch({.block = 1024, .shared = n * sizeof(int)}, a, n);
  EXPECT_EQ(values(a), values(arange<int>(n)));
}

TEST_F(SourceKernels, have_the_shared_memory_that_several_threads_ask_for) {
  const Function reversed = module().function("reversed");
  std::atomic<int> ready = 0, lowered = 0;
  const auto ask = [&](int first) {
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (int shared = first; shared <= 100000; shared += 2) {
      reversed.best_block_size(static_cast<std::size_t>(shared));
      const int allowed = reversed.attribute(FunctionAttribute::max_dynamic_shared_size_bytes);
      lowered += allowed < shared ? 1 : 0;
    }
  };
  std::thread other(ask, 50001);
  ask(50000);
  other.join();
  EXPECT_EQ(lowered, 0);
}

TEST_F(SourceKernels, choose_their_blocks_with_the_shared_memory_that_they_ask_for) {
  const Module mod = module();
  const auto allowed = [](const Function& f) {
    return f.attribute(FunctionAttribute::max_dynamic_shared_size_bytes);
  };
  const Function twice = mod.function("twice"), lines = mod.function("lines"),
                 reversed = mod.function("reversed"), idle = mod.function("idle");
  EXPECT_GE(twice.best_block_size(60000), 32);
  EXPECT_GE(allowed(twice), 60000);
  EXPECT_GE(lines.blocks_per_multiprocessor(32, 60000), 1);
  EXPECT_GE(allowed(lines), 60000);
  idle.launch({.shared = 60000});
  EXPECT_GE(allowed(idle), 60000);
  if (Device().compute_capability().first < 9) return;
  EXPECT_GE(reversed.max_cluster_size({.block = 32, .shared = 60000}), 1);
  EXPECT_GE(allowed(reversed), 60000);
}

TEST_F(SourceKernels, are_prepared_for_their_types) {
  const auto scale = module().function("scale<float>").prepare<float*, float>();
  const auto a = to_device(counted(8));
  scale.prepared_call(1, 8, a, 2);  // an int becomes the float that the kernel takes
  EXPECT_EQ(values(a), times(counted(8), 2));
  const Stream in = stream();
  scale.prepared_async_call(1, 4, in, DevicePtr(a) + 16, 2.f);
  in.synchronize();
  EXPECT_EQ(values(a), (std::vector<float>{2, 4, 6, 8, 20, 24, 28, 32}));
  const LaunchTimer seconds = scale.prepared_timed_call(1, 8, a, 0.5f);
  EXPECT_GE(seconds(), 0);
  EXPECT_EQ(seconds(), seconds());
  EXPECT_EQ(values(a)[0], 1);
  EXPECT_EQ(message_of<LogicError>([&] { scale.function().prepare<float*, double>(); }),
            "the kernel scale<float>: argument 1 (from 0) has 8 bytes, the parameter 4");
  EXPECT_THROW(scale.function().prepare<float*>(), LogicError);
}

TEST_F(SourceKernels, cost_two_calls_of_the_driver) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts the calls";
  namespace shim = backend::cuda::shim;
  using backend::cuda::DriverFunction;
  const auto scale = module().function("scale<float>").prepare<float*, float>();
  const Function reversed = module().function("reversed");
  const Stream other = stream();
  const auto numbers = arange<int>(8);
  const auto a = to_device(counted(8)), b = full<float>({8}, 1, {.stream = other});
  const auto launch = [&] {
    scale.prepared_call(1, 8, a, 1.f);
    scale.prepared_call(1, 8, b, 1.f);
    scale.prepared_async_call(1, 8, other, a, 1.f);
    reversed.launch({.block = 8, .shared = 60000}, numbers, 8);
  };
  launch();
  shim::reset_counts();
  for (int i = 0; i < 10; ++i) launch();
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernel), 40);
  EXPECT_EQ(shim::calls(DriverFunction::CtxGetCurrent), 40);
  EXPECT_EQ(shim::calls(), 80);
  synchronize();
}

}  // namespace
}  // namespace quarry
