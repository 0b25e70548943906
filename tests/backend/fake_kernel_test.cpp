// SPDX-License-Identifier: BSD-3-Clause
#include "backend/fake_device.hpp"

#include <random>

#include <quarry/base/error.hpp>

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
    Block block;
    block.add(test::count(shape)).add(to.first).add(x.first).add(y.first).scalar(3.0).add(shape);
    block.add(out.strides).add(a.strides).add(b.strides);
    gpu().map({&program_for<Map>::value, static_cast<int>(shape.size()), test::count(shape), 0,
               block.words()},
              stream);
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
    const i64 outputs = test::count(kept), elements = test::count(reduced);
    const DeviceOperand<int> from(gpu(), input);
    const OnDevice<i64> to(gpu(), std::vector<i64>(static_cast<std::size_t>(outputs)));
    Extents dense(kept.size());
    for (i64 d = std::ssize(kept) - 1, stride = 8; d >= 0; --d) {
      dense[static_cast<std::size_t>(d)] = stride;
      stride *= kept[static_cast<std::size_t>(d)];
    }
    Block block;
    block.add(outputs)
        .add(elements)
        .add(i64{0})
        .add(to.data())
        .add(from.first)
        .add(kept)
        .add(reduced);
    block.add(dense).add(Extents(reduced.size())).add(input.strides);
    const ReduceCall call{&program_for<R>::value,
                          static_cast<int>(kept.size()),
                          static_cast<int>(reduced.size()),
                          outputs,
                          elements,
                          0,
                          along,
                          true,
                          block.words()};
    const std::size_t scratch_bytes = gpu().reduce_scratch(call);
    const OnDevice<char> scratch(gpu(), std::vector<char>(scratch_bytes));
    gpu().reduce(call, scratch_bytes > 0 ? scratch.data() : nullptr, nullptr);
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
      Block block;
      block.add(static_cast<i64>(n)).add(out.data() + offset).add(in.data() + offset);
      using Flat = map_of<Double, int, 0, int>;
      gpu().map({&program_for<Flat>::value, 0, static_cast<i64>(n), 0, block.words()}, nullptr);
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
    Block block;
    block.add(i64{2})
        .add(out.data())
        .add(memory_ + middle)
        .add(Extents{2})
        .add(Extents{4})
        .add(Extents{stride});
    gpu().map({&program_for<map_of<Double, int, 0, int>>::value, 1, 2, span, block.words()},
              nullptr);
    return out.values();
  }

 private:
  char* memory_ = nullptr;
};

TEST_F(FarApart, AreReachedWithWideIndices) {
  EXPECT_EQ(doubled(stride + 4), (std::vector<int>{14, 16}));
  EXPECT_NE(fake::last_kernel().find("long"), std::string::npos);
}

TEST_F(FarApart, AreMissedByNarrowIndicesWhenTheSpanIsWrong) {
  EXPECT_NE(doubled(8), (std::vector<int>{14, 16}));
  EXPECT_NE(fake::last_kernel().find(" int,"), std::string::npos);
}

TEST_F(FakeKernels, AKernelIsCompiledOnceForAllShapes) {
  using Once = map_of<op<multiply_op, int, in<int, 0>, in<int, 1>>, int, 0, int, int>;
  const OnDevice<int> a(gpu(), std::vector<int>(64, 3)), out(gpu(), std::vector<int>(64));
  fake::reset_statistics();
  for (i64 n = 4; n <= 64; n += 4) {
    Block block;
    block.add(n).add(out.data()).add(a.data()).add(a.data());
    gpu().map({&program_for<Once>::value, 0, n, 0, block.words()}, nullptr);
  }
  EXPECT_EQ(out.values(), std::vector<int>(64, 9));
  EXPECT_EQ(fake::statistics().compilations, 1);
  EXPECT_EQ(fake::statistics().launches, 16);
}

TEST_F(FakeKernels, AFailedCompilationHasItsLogAndMayBeTriedAgain) {
  using Program = map_of<op<subtract_op, int, in<int, 0>, in<int, 0>>, int, 0, int>;
  const OnDevice<int> a(gpu(), {1, 2, 3, 4}), out(gpu(), {9, 9, 9, 9});
  Block block;
  block.add(i64{4}).add(out.data()).add(a.data());
  const MapCall call{&program_for<Program>::value, 0, 4, 0, block.words()};
  fake::set_compiler({.fails = true, .log = "k.cu(3): error: told to"});
  try {
    gpu().map(call, nullptr);
    ADD_FAILURE() << "compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("k.cu(3): error: told to"), std::string::npos);
  }
  EXPECT_EQ(out.values(), (std::vector<int>{9, 9, 9, 9}));
  fake::set_compiler({});
  gpu().map(call, nullptr);
  EXPECT_EQ(out.values(), (std::vector<int>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace quarry::backend
