// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include <quarry/kernels/reduce.hpp>

#include "backend/backend.hpp"
#include "backend/cpu/cpu_layouts.hpp"
#include "kernels/folds.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using test::Extents;

/// Depends on which value is at which position, as often as it is met.
struct Digest {
  u64 hash;
  i64 positions;
};
struct digest_of {
  template <class Acc>
  static Acc identity() {
    return {0, 0};
  }
  static void take(Digest& a, i64 v, i64 i) {
    const u64 mixed = static_cast<u64>(i + 1) * 0x9e3779b97f4a7c15U;
    a = combine(a, {(mixed ^ mixed >> 29) * static_cast<u64>(v + 1), i});
  }
  static Digest combine(Digest a, Digest b) { return {a.hash + b.hash, a.positions + b.positions}; }
  template <class Out, class C>
  static Out finish(Digest a, const C& c) {
    return static_cast<Out>(a.hash ^ static_cast<u64>(a.positions * 1000003) ^
                            static_cast<u64>(c.count()) << 50) +
           static_cast<Out>(c.template scalar<i64, 0>());
  }
};
}  // namespace
}  // namespace quarry::backend

template <>
struct quarry::kernels::value_of<quarry::backend::Digest> {
  using type = quarry::kernels::i64;
};
template struct quarry::kernels::folds<quarry::backend::digest_of, quarry::backend::Digest>;

namespace quarry::backend {
namespace {

using Value = op<multiply_op, i64, in<int, 0>, val<i64, 0>>;
using Program = reduction_of<Value, digest_of, Digest, u64, 1, int>;

u64 expected_digest(test::Operand<int>& input, const Extents& at, const Extents& reduced,
                    i64 scale) {
  Digest all{0, 0};
  for (i64 i = 0; i < test::count(reduced); ++i) {
    Extents where = at;
    const Extents inner = test::coordinates(i, reduced);
    where.insert(where.end(), inner.begin(), inner.end());
    digest_of::take(all, input[where] * scale, i);
  }
  const u64 scalars[] = {static_cast<u64>(scale), 0};
  return digest_of::finish<u64>(all, loop_total{test::count(reduced), scalars});
}

void check(const Extents& kept, const Extents& reduced, bool along, std::mt19937& random,
           Stream stream) {
  Extents shape = kept;
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  auto input = test::random_operand<int>(shape, random, false);
  auto out = test::random_operand<u64>(kept, random, true);
  KernelCall call = test::call_of(program_for<Program>::value, kept, reduced,
                                  {{out.first, out.strides}, {input.first, input.strides}}, i64{3});
  call.along_reduced = along;
  cpu().launch(call, no_workspace(), stream);
  cpu().synchronize(stream);
  for (i64 k = 0; k < test::count(kept); ++k) {
    const Extents at = test::coordinates(k, kept);
    ASSERT_EQ(out[at], expected_digest(input, at, reduced, 3))
        << testing::PrintToString(kept) << testing::PrintToString(reduced) << along << " output "
        << k;
  }
}

TEST(CpuReduce, AnyLayout) {
  std::mt19937 random(3);
  const Stream stream = cpu().create_stream({});
  const std::vector<Extents> groups{{},     {1},     {3},      {17},      {700},
                                    {2, 5}, {80, 9}, {3, 700}, {4, 3, 5}, {2, 3, 2, 3}};
  for (const Extents& kept : groups) {
    for (const Extents& reduced : groups) {
      for (const bool along : {false, true})
        check(kept, reduced, along, random, along ? stream : nullptr);
    }
  }
  cpu().destroy_stream(stream);
}

TEST(CpuReduce, ManyReducedElementsInChunks) {
  std::mt19937 random(4);
  for (const Extents& kept : std::vector<Extents>{{}, {1}, {5}, {30}, {2, 9}}) {
    for (const Extents& reduced :
         std::vector<Extents>{{40000}, {333, 101}, {7, 5, 1001}, {10007, 3}}) {
      for (const bool along : {false, true}) check(kept, reduced, along, random, nullptr);
    }
  }
}

template <class M, class Out, class In>
Out reduce_all(const std::vector<In>& values) {
  Out out{};
  KernelCall call = test::call_of(program_for<M>::value, {}, {static_cast<i64>(values.size())},
                                  {{&out}, {values.data(), {sizeof(In)}}});
  call.along_reduced = true;
  cpu().launch(call, no_workspace(), nullptr);
  return out;
}

TEST(CpuReduce, SumOfFloatsIsAccurateAndRepeatable) {
  std::mt19937 random(5);
  std::vector<float> values(1 << 21);
  double exact = 0;
  for (float& v : values) exact += v = static_cast<float>(random() % 1000) * 1e-3F;
  using Sum = reduction_of<in<float, 0>, sum_of, float, float, 0, float>;
  const float sum = reduce_all<Sum, float>(values);
  EXPECT_NEAR(sum, exact, exact * 1e-6);
  for (int i = 0; i < 5; ++i) EXPECT_EQ((reduce_all<Sum, float>(values)), sum);
}

TEST(CpuReduce, FirstOfEqualExtremes) {
  std::vector<int> values(200000, 1);
  using ArgMax = reduction_of<in<int, 0>, argmax_of, located<int>, i64, 0, int>;
  EXPECT_EQ((reduce_all<ArgMax, i64>(values)), 0);
  values[150000] = values[60000] = 2;
  EXPECT_EQ((reduce_all<ArgMax, i64>(values)), 60000);
}

TEST(CpuReduce, ExtremesAmongInfinitiesAndNaNs) {
  using ArgMax = reduction_of<in<float, 0>, argmax_of, located<float>, i64, 0, float>;
  using ArgMin = reduction_of<in<float, 0>, argmin_of, located<float>, i64, 0, float>;
  std::vector<float> values(200000, -INFINITY);
  EXPECT_EQ((reduce_all<ArgMax, i64>(values)), 0);
  EXPECT_EQ((reduce_all<ArgMin, i64>(values)), 0);
  values[170000] = 1;
  EXPECT_EQ((reduce_all<ArgMax, i64>(values)), 170000);
  values[150000] = values[90000] = values[190000] = NAN;
  EXPECT_EQ((reduce_all<ArgMax, i64>(values)), 90000);
  EXPECT_EQ((reduce_all<ArgMin, i64>(values)), 90000);
}

template <class Arg, class T>
void expect_the_same_in_any_order(std::initializer_list<T> values, i64 first) {
  using Acc = located<T>;
  const Acc none = Arg::template identity<Acc>();
  const auto taken = [&](std::size_t i) {
    Acc a = none;
    Arg::take(a, values.begin()[i], static_cast<i64>(i));
    return a;
  };
  Acc up = none, down = none, all = none;
  for (std::size_t i = 0; i < values.size(); ++i) {
    up = Arg::combine(up, taken(i));
    down = Arg::combine(down, taken(values.size() - 1 - i));
    Arg::take(all, values.begin()[i], static_cast<i64>(i));
  }
  for (const Acc& a : {up, down, all})
    EXPECT_EQ(Arg::template finish<i64>(a, loop_total{9, nullptr}), first);
}

TEST(CpuReduce, TheOrderOfCombinationDoesNotMatter) {
  const float nan = NAN, inf = INFINITY;
  expect_the_same_in_any_order<argmax_of, float>({1, 3, 2, 3, 0}, 1);
  expect_the_same_in_any_order<argmin_of, float>({1, 0.F, 2, -0.F, 3}, 1);
  expect_the_same_in_any_order<argmax_of, float>({1, inf, nan, inf, nan}, 2);
  expect_the_same_in_any_order<argmin_of, float>({nan, -inf, nan, -inf}, 0);
  expect_the_same_in_any_order<argmax_of, float>({-inf, -inf, -inf}, 0);
  expect_the_same_in_any_order<argmax_of, bool>({false, false, true, true}, 2);
  expect_the_same_in_any_order<argmin_of, bool>({true, true}, 0);
  expect_the_same_in_any_order<argmin_of, u8>({255, 255, 7, 7}, 2);
  using Complex = complex<float>;
  expect_the_same_in_any_order<argmax_of, Complex>({{1, 5}, {2, 1}, {2, 3}, {2, 3}}, 2);
  expect_the_same_in_any_order<argmax_of, Complex>({{9, 9}, {1, nan}, {nan, 1}}, 1);
  expect_the_same_in_any_order<argmin_of, Complex>({{0, 0}, {nan, 2}, {7, nan}}, 1);
}

}  // namespace
}  // namespace quarry::backend
