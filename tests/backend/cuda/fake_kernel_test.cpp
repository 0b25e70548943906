// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include <quarry/base/error.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "fake_driver/shim.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using test::Extents;

// a + scale * b + position, with operands of different sizes
using Scaled = op<multiply_op, double, in<int, 1>, val<double, 0>>;
using Sum = op<add_op, double, op<add_op, double, in<float, 0>, Scaled>, iota<double>>;
using Map = map_of<Sum, double, 1, float, int>;

using Double = op<add_op, int, in<int, 0>, in<int, 0>>;
using Total = reduction_of<in<int, 0>, sum_of, i64, i64, 0, int>;
using Latest = reduction_of<in<int, 0>, argmax_of, located<int>, i64, 0, int>;

class FakeKernels : public OverFake {
 protected:
  void check_map(const Extents& shape, std::mt19937& random, Stream stream) {
    auto out = test::random_operand<double>(shape, random, true);
    auto a = test::random_operand<float>(shape, random, false);
    auto b = test::random_operand<int>(shape, random, false);
    const DeviceOperand<double> to(gpu(), out);
    const DeviceOperand<float> x(gpu(), a);
    const DeviceOperand<int> y(gpu(), b);
    gpu().launch(
        test::call_of(program_for<Map>::value, shape, {},
                      {{to.first, out.strides}, {x.first, a.strides}, {y.first, b.strides}}, 3.0),
        no_workspace(), stream);
    for (i64 i = 0; i < test::count(shape); ++i) {
      const Extents at = test::coordinates(i, shape);
      out[at] = a[at] + 3.0 * b[at] + static_cast<double>(i);
    }
    EXPECT_TRUE(to.memory.values(stream) == out.storage) << testing::PrintToString(shape);
  }

  /// The reduction of a random operand and the expected total at each output.
  template <class R, class Expected>
  void check_reduce(const Extents& kept, const Extents& reduced, bool along, std::mt19937& random,
                    Expected expected) {
    Extents shape = kept;
    shape.insert(shape.end(), reduced.begin(), reduced.end());
    auto input = test::random_operand<int>(shape, random, false);
    const i64 outputs = test::count(kept);
    const DeviceOperand<int> from(gpu(), input);
    const OnDevice<i64> to(gpu(), std::vector<i64>(static_cast<std::size_t>(outputs)));
    Extents dense(kept.size());
    for (i64 d = std::ssize(kept) - 1, stride = 8; d >= 0; --d) {
      dense[static_cast<std::size_t>(d)] = stride;
      stride *= kept[static_cast<std::size_t>(d)];
    }
    KernelCall call = test::call_of(program_for<R>::value, kept, reduced,
                                    {{to.data(), dense}, {from.first, input.strides}});
    call.along_reduced = along;
    DeviceWorkspace workspace(gpu());
    gpu().launch(call, workspace, nullptr);
    const std::vector<i64> results = to.values();
    for (i64 k = 0; k < outputs; ++k) {
      const Extents at = test::coordinates(k, kept);
      ASSERT_EQ(results[static_cast<std::size_t>(k)], expected(input, at, reduced))
          << testing::PrintToString(kept) << testing::PrintToString(reduced) << along << " at "
          << k;
    }
  }

  static i64 total(test::Operand<int>& input, const Extents& at, const Extents& reduced) {
    i64 sum = 0;
    for (i64 i = 0; i < test::count(reduced); ++i) sum += input[joined(at, i, reduced)];
    return sum;
  }
  static i64 first_maximum(test::Operand<int>& input, const Extents& at, const Extents& reduced) {
    i64 best = 0;
    for (i64 i = 1; i < test::count(reduced); ++i) {
      if (input[joined(at, i, reduced)] > input[joined(at, best, reduced)]) best = i;
    }
    return best;
  }

 private:
  static Extents joined(Extents at, i64 i, const Extents& reduced) {
    const Extents inner = test::coordinates(i, reduced);
    at.insert(at.end(), inner.begin(), inner.end());
    return at;
  }
};

TEST_F(FakeKernels, MapsOfRanks1To5) {
  std::mt19937 random(1);
  const Stream stream = gpu().create_stream({});
  for (const Extents& shape : std::vector<Extents>{{1},
                                                   {5},
                                                   {1000},
                                                   {7, 3},
                                                   {3, 5000},
                                                   {5000, 3},
                                                   {200, 31},
                                                   {4, 5, 6},
                                                   {40, 5, 31},
                                                   {2, 3, 4, 5},
                                                   {9, 8, 7, 9},
                                                   {3, 1, 4, 1, 5},
                                                   {5, 4, 3, 2, 11}}) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      behave(static_cast<std::uint64_t>(repeat) + 1);
      check_map(shape, random, repeat % 2 ? stream : nullptr);
    }
  }
  gpu().destroy_stream(stream);
}

TEST_F(FakeKernels, FlatMapsOfAnyAlignment) {
  for (const std::size_t n : {1U, 3U, 255U, 1024U, 4099U}) {
    for (const std::size_t offset : {0U, 1U, 2U, 3U}) {
      std::vector<int> values(n + offset);
      std::iota(values.begin(), values.end(), 1);
      const OnDevice<int> in(gpu(), values), out(gpu(), std::vector<int>(n + offset));
      using Flat = map_of<Double, int, 0, int>;
      gpu().launch(test::flat_call(program_for<Flat>::value, static_cast<i64>(n),
                                   {out.data() + offset, in.data() + offset}),
                   no_workspace(), nullptr);
      const std::vector<int> results = out.values();
      for (std::size_t i = offset; i < n + offset; ++i) ASSERT_EQ(results[i], 2 * values[i]);
      for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(results[i], 0);
    }
  }
}

TEST_F(FakeKernels, ReductionsOfAnyAxes) {
  std::mt19937 random(2);
  for (const auto& [kept, reduced] :
       std::vector<std::pair<Extents, Extents>>{{{}, {1}},
                                                {{}, {7}},
                                                {{}, {100000}},
                                                {{}, {300, 301}},
                                                {{3}, {5}},
                                                {{3}, {40000}},
                                                {{500}, {3}},
                                                {{4, 5}, {6}},
                                                {{4}, {5, 6}},
                                                {{2, 3}, {4, 5}},
                                                {{2, 3, 2}, {7, 3}},
                                                {{2, 2}, {3, 40, 50}}}) {
    for (const bool along : {false, true}) {
      check_reduce<Total>(kept, reduced, along, random, total);
      check_reduce<Latest>(kept, reduced, along, random, first_maximum);
    }
  }
}

/// Dense strides of elements of `size` bytes, of which the axes of `order` vary ever faster.
Extents dense_strides(const Extents& shape, const std::vector<std::size_t>& order, i64 size) {
  Extents strides(shape.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = size;
    size *= shape[order[i]];
  }
  return strides;
}
i64 place_of(const Extents& at, const Extents& strides) {
  return std::inner_product(at.begin(), at.end(), strides.begin(), i64{0});
}

TEST_F(FakeKernels, ReductionsWhoseOutputsLieInAnotherOrderThanTheirInputs) {
  std::mt19937 random(3);
  const Extents kept{3, 5, 4}, reduced{200};
  std::vector<int> values(3 * 5 * 4 * 200);
  for (int& value : values) value = static_cast<int>(random() % 1000);
  const OnDevice<int> from(gpu(), values);
  std::vector<std::size_t> order{0, 1, 2};
  do {
    for (const bool along : {false, true}) {
      const Extents in = along ? dense_strides({3, 5, 4, 200}, {0, 1, 2, 3}, 4)
                               : dense_strides({3, 5, 4, 200}, {3, 0, 1, 2}, 4);
      const Extents out = dense_strides(kept, order, 8);
      const OnDevice<i64> to(gpu(), std::vector<i64>(60));
      KernelCall call = test::call_of(program_for<Total>::value, kept, reduced,
                                      {{to.data(), out}, {from.data(), in}});
      call.along_reduced = along;
      DeviceWorkspace workspace(gpu());
      gpu().launch(call, workspace, nullptr);
      const std::vector<i64> results = to.values();
      for (i64 k = 0; k < 60; ++k) {
        Extents at = test::coordinates(k, kept);
        const auto place = static_cast<std::size_t>(place_of(at, out) / 8);
        i64 sum = 0;
        at.push_back(0);
        for (; at[3] < 200; ++at[3]) sum += values[static_cast<std::size_t>(place_of(at, in) / 4)];
        ASSERT_EQ(results[place], sum) << testing::PrintToString(order) << along << " at " << k;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Elements that are more than 2 GiB apart, in a block that costs memory only where it is touched.
class FarApart : public FakeKernels {
 protected:
  static constexpr std::size_t block_bytes = std::size_t{5} << 30;
  static constexpr i64 middle = i64{1} << 31, stride = i64{9} << 28;

  void SetUp() override {
    FakeKernels::SetUp();
    if (IsSkipped()) return;
    fake::set_memory(0, std::size_t{8} << 30);
    memory_ = static_cast<char*>(gpu().allocate(block_bytes));
    ASSERT_NE(memory_, nullptr);
    for (const int value : {7, 8}) {
      gpu().copy({Direction::host_to_device, memory_ + middle + (value - 7) * stride, &value,
                  sizeof value},
                 nullptr, true);
    }
  }
  void TearDown() override {
    if (memory_) {
      gpu().free(memory_, block_bytes);
      fake::set_memory(0, std::size_t{1} << 30);
    }
    FakeKernels::TearDown();
  }
  std::vector<int> doubled(i64 span) {
    const OnDevice<int> out(gpu(), {0, 0});
    KernelCall call = test::call_of(program_for<map_of<Double, int, 0, int>>::value, {2}, {},
                                    {{out.data(), {4}}, {memory_ + middle, {stride}}});
    call.span = span;
    gpu().launch(call, no_workspace(), nullptr);
    return out.values();
  }

 private:
  char* memory_ = nullptr;
};

TEST_F(FarApart, AreReachedWithWideIndices) {
  EXPECT_EQ(doubled(stride + 4), (std::vector<int>{14, 16}));
  EXPECT_TRUE(fake::last_kernel().ends_with(", 1, 8, 1, 1, 0>")) << fake::last_kernel();
}

TEST_F(FarApart, AreMissedByNarrowIndicesWhenTheSpanIsWrong) {
  EXPECT_NE(doubled(8), (std::vector<int>{14, 16}));
  EXPECT_TRUE(fake::last_kernel().ends_with(", 1, 4, 1, 1, 0>")) << fake::last_kernel();
}

TEST_F(FakeKernels, AKernelIsCompiledOnceForAllShapes) {
  using Once = map_of<op<multiply_op, int, in<int, 0>, in<int, 1>>, int, 0, int, int>;
  const OnDevice<int> a(gpu(), std::vector<int>(64, 3)), out(gpu(), std::vector<int>(64));
  fake::reset_statistics();
  for (i64 n = 4; n <= 64; n += 4) {
    gpu().launch(test::flat_call(program_for<Once>::value, n, {out.data(), a.data(), a.data()}),
                 no_workspace(), nullptr);
  }
  EXPECT_EQ(out.values(), std::vector<int>(64, 9));
  EXPECT_EQ(fake::statistics().compilations, 1);
  EXPECT_EQ(fake::statistics().launches, 16);
}

/// Of a sum in one launch: a block for each split. Its kernels are those of no other test.
template <class T, class Total>
i64 splits_of_sum(Device& gpu, int resident_blocks) {
  using Twice = op<add_op, T, in<T, 0>, in<T, 0>>;
  using Sum = reduction_of<Twice, sum_of, Total, Total, 0, T>;
  constexpr i64 n = i64{1} << 24;
  fake::set_compiler({.resident_threads = 256 * resident_blocks});
  const OnDevice<T> in(gpu, std::vector<T>(n, T(1)));
  const OnDevice<Total> out(gpu, {0});
  KernelCall call = test::call_of(program_for<Sum>::value, {}, {n},
                                  {{out.data()}, {in.data(), {i64{sizeof(T)}}}});
  call.along_reduced = true;
  DeviceWorkspace workspace(gpu);
  gpu.launch(call, workspace, nullptr);
  EXPECT_EQ(out.values()[0], Total(2 * n));
  fake::set_compiler({});
  const i64 chunk = static_cast<i64>(fake::last_block().at(block_places::chunk));
  return (n + chunk - 1) / chunk;
}

/// All run at once, as many on each multiprocessor.
TEST_F(FakeKernels, ASumHasAsManyBlocksAsTheDriverSaysRunAtOnce) {
  const auto expect_even = [](i64 splits, i64 resident) {
    EXPECT_LE(splits, resident * 132);
    EXPECT_GT(splits, resident * 132 * 31 / 32);
  };
  expect_even(splits_of_sum<int, i64>(gpu(), 3), 3);
  expect_even(splits_of_sum<u32, u64>(gpu(), 5), 5);
  expect_even(splits_of_sum<float, float>(gpu(), 7), 7);
  expect_even(splits_of_sum<double, double>(gpu(), 8), 4);
}

TEST_F(FakeKernels, AKernelIsCompiledAndLookedUpForItsLaunchesAlone) {
  fake::reset_statistics();
  splits_of_sum<short, i64>(gpu(), 5);
  EXPECT_EQ(fake::statistics().compilations, fake::statistics().launches);
  const i64 before = kernel_cache_statistics().memory_hits;
  const i64 launches = fake::launches_of([&] { splits_of_sum<short, i64>(gpu(), 5); });
  EXPECT_EQ(kernel_cache_statistics().memory_hits - before, launches);
}

/// The sum of inputs 0 to K.
template <int K>
struct sum_up_to {
  using type = op<add_op, int, typename sum_up_to<K - 1>::type, in<int, K>>;
};
template <>
struct sum_up_to<0> {
  using type = in<int, 0>;
};
using ManyInputs = map_of<sum_up_to<19>::type, int, 0, int, int, int, int, int, int, int, int, int,
                          int, int, int, int, int, int, int, int, int, int, int>;

/// A thread computes as many rows as its registers hold inputs: those that are the same are one.
TEST_F(FakeKernels, RowsOfAThreadAreCountedByTheInputsThatAreRead) {
  constexpr i64 rows = 20000, columns = 33, pitch = columns + 2;
  const OnDevice<int> a(gpu(), std::vector<int>(rows * pitch + 20, 3)),
      out(gpu(), std::vector<int>(rows * columns));
  const auto kernel = [&](int apart) {
    KernelCall call(program_for<ManyInputs>::value);
    call.shape = {rows, columns};
    call.kept_rank = 2, call.kept = rows * columns, call.span = 4 * rows * pitch;
    call.operands[0] = {reinterpret_cast<std::byte*>(out.data()), {4 * columns, 4}};
    for (std::size_t k = 1; k <= 20; ++k) {
      const auto first = static_cast<std::ptrdiff_t>(k - 1) * apart;
      call.operands[k] = {reinterpret_cast<std::byte*>(a.data() + first), {4 * pitch, 4}};
    }
    gpu().launch(call, no_workspace(), nullptr);
    EXPECT_EQ(out.values(), std::vector<int>(rows * columns, 60));
    return fake::last_kernel();
  };
  const std::string same = kernel(0);
  EXPECT_TRUE(same.ends_with(", 2, 4, 4, 1, 0>")) << same;
  const std::string different = kernel(1);
  EXPECT_TRUE(different.ends_with(", 2, 4, 2, 1, 0>")) << different;
}

TEST_F(FakeKernels, AFailedCompilationHasItsLogAndMayBeTriedAgain) {
  using Program = map_of<op<subtract_op, int, in<int, 0>, in<int, 0>>, int, 0, int>;
  const OnDevice<int> a(gpu(), {1, 2, 3, 4}), out(gpu(), {9, 9, 9, 9});
  const KernelCall call = test::flat_call(program_for<Program>::value, 4, {out.data(), a.data()});
  fake::set_compiler({.fails = true, .log = "k.cu(3): error: told to"});
  try {
    gpu().launch(call, no_workspace(), nullptr);
    ADD_FAILURE() << "compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("k.cu(3): error: told to"), std::string::npos);
  }
  EXPECT_EQ(out.values(), (std::vector<int>{9, 9, 9, 9}));
  fake::set_compiler({});
  gpu().launch(call, no_workspace(), nullptr);
  EXPECT_EQ(out.values(), (std::vector<int>{0, 0, 0, 0}));
}

/// A process that was forked in between would find NVRTC's locks held, also in exit().
TEST_F(FakeKernels, AForkWaitsForACompilation) {
  std::atomic<bool> has_begun = false, is_compiled = false, is_over = false;
  int status = -1;
  std::thread forker;
  const auto fork_meanwhile = [&] {
    forker = std::thread([&] {
      has_begun = true;
      has_begun.notify_one();
      const pid_t child = fork();
      if (child == 0) _exit(is_compiled ? 0 : 1);
      is_over = true;
      waitpid(child, &status, 0);
    });
    has_begun.wait(false);
    for (int i = 0; i < 200 && !is_over; ++i) usleep(1000);  // a fork that does not wait has time
    is_compiled = true;
  };
  fake::set_compiler({.while_compiling = fork_meanwhile});
  using Once = map_of<op<multiply_op, int, in<int, 0>, Double>, int, 0, int>;
  const OnDevice<int> in(gpu(), {1, 2}), out(gpu(), {3, 4});
  gpu().launch(test::flat_call(program_for<Once>::value, 2, {out.data(), in.data()}),
               no_workspace(), nullptr);
  fake::set_compiler({});
  ASSERT_TRUE(forker.joinable()) << "nothing was compiled";
  forker.join();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(out.values(), (std::vector<int>{2, 8}));
}

}  // namespace
}  // namespace quarry::backend
