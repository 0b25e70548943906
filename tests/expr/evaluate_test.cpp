// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <future>
#include <limits>
#include <optional>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

TEST(Evaluate, AnExpressionBecomesAnArrayAsOftenAsItIsNeeded) {
  const auto a = to_device({1, 2, 3});
  const auto lazy = a * 10;  // what a write before its evaluation does: staleness_test.cpp
  EXPECT_EQ(values(DeviceNDArray<int>(lazy)), (std::vector{10, 20, 30}));
  EXPECT_EQ(lazy.shape(), (Shape{3}));
  EXPECT_EQ(lazy.dtype(), dtype_of<int>);
  EXPECT_EQ(values(eval(lazy)), (std::vector{10, 20, 30}));
  EXPECT_EQ(eval(a).device_pointer(), a.device_pointer());
}

TEST(Evaluate, ANodeCopiesWhatTheCallerKeeps) {
  const auto a = to_device({1, 2, 3});
  auto leaf = expr::as_tree(a);
  const auto node = expr::make_node<kernels::negative_op>(leaf);
  EXPECT_EQ(leaf.array.device_pointer(), a.device_pointer());
  EXPECT_EQ(leaf.shape(), (Shape{3}));
  EXPECT_EQ(values(eval(node)), (std::vector{-1, -2, -3}));
}

auto expression_of_locals() {
  const auto a = to_device({1.0, 2.0});
  const auto b = a + 1.0;
  return sqrt(b * b) * to_device({10.0, 100.0});
}

TEST(Evaluate, AnExpressionKeepsItsArraysAlive) {
  const auto e = expression_of_locals();
  const auto other = full<double>({2}, -1.0);  // would take the memory if it were free
  EXPECT_EQ(values(eval(e)), (std::vector{20.0, 300.0}));
}

TEST(Evaluate, AnIndexedExpressionIsTheIndexedResult) {
  Random random(11);
  const auto a = arange<int>(60).reshape({3, 4, 5});
  const auto row = arange<int>(5) * 100, column = arange<int>(4).reshape({4, 1}) * 1000;
  const auto e = (a + row) * 2 - column;
  const auto whole = eval(e);
  for (int round = 0; round < 50; ++round) {
    const Range r = random.range(3), s = random.range(4), t = random.range(5);
    EXPECT_EQ(values(eval(e(r, s, t))), values(whole(r, s, t)));
    EXPECT_EQ(e(r, s, t).shape(), whole(r, s, t).shape());
    EXPECT_EQ(values(eval(e(ellipsis, t))), values(whole(ellipsis, t)));
    EXPECT_EQ(values(eval(e(all, -1, newaxis))), values(whole(all, -1, newaxis)));
  }
  EXPECT_EQ(e(2, 1, 3).item(), whole(2, 1, 3).item());
  EXPECT_THROW(e(3), IndexError);
  EXPECT_THROW(e(0, 0, 0, 0), IndexError);
}

TEST(Evaluate, ShapesThatDoNotBroadcastAreRefusedInEveryPosition) {
  const auto a = zeros<float>({2, 3}), b = zeros<float>({4, 3}), ok = zeros<float>({1, 3});
  EXPECT_THROW(a + b, ShapeError);
  EXPECT_THROW(b + a, ShapeError);
  EXPECT_THROW((a + ok) * (ok + b), ShapeError);
  EXPECT_THROW(where(a > 0.f, ok, b), ShapeError);
  EXPECT_THROW(where(b > 0.f, a, ok), ShapeError);
  EXPECT_THROW(where(a > 0.f, b, ok), ShapeError);
  EXPECT_THROW(clip(a, ok, b), ShapeError);
  EXPECT_THROW(a += b, ShapeError);
  EXPECT_THROW(ok += a, ShapeError);  // the destination does not stretch
  try {
    a + b;
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("(2, 3)"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("(4, 3)"), std::string::npos);
  }
}

TEST(Evaluate, AResultWithTooManyElementsIsRefused) {
  const std::int64_t big = std::int64_t{1} << 40;
  const auto one = zeros<char>({1});
  const auto tall = one.broadcast_to({big, 1}), wide = one.broadcast_to({1, big});
  EXPECT_THROW(tall + wide, SizeOverflow);
}

TEST(Evaluate, BroadcastingOfRandomShapesIsNumPys) {
  Random random(21);
  for (int round = 0; round < (test::kind_is_slow() ? 60 : 1500); ++round) {
    const auto rank = static_cast<std::size_t>(random.between(0, 4));
    const Ints shape = random.shape(rank, 4);
    const auto part = [&] {
      Ints own(shape.begin() + random.between(0, static_cast<std::int64_t>(rank)), shape.end());
      for (auto& n : own) n = random.between(0, 2) ? n : 1;
      return own;
    };
    const Ints sx = part(), sy = part();
    const auto x = counted<int>(sx), y = counted<int>(sy);
    const DeviceNDArray<int> got = to_device(x) * 1000 + to_device(y);
    const Ints have(got.shape().begin(), got.shape().end());
    const auto list = values(got);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto at = [&](const Ints& s) {
        std::size_t rest = k, result = 0, place = 1;
        for (std::size_t d = 0; d < have.size(); ++d) {
          const auto n = static_cast<std::size_t>(have[have.size() - 1 - d]);
          const std::size_t i = rest % n;
          rest /= n;
          if (d >= s.size()) continue;
          const auto own = static_cast<std::size_t>(s[s.size() - 1 - d]);
          result += own == 1 ? 0 : i * place;
          place *= own;
        }
        return result;
      };
      ASSERT_EQ(list[k], x[at(sx)] * 1000 + y[at(sy)]);
    }
  }
}

TEST(Evaluate, RandomViewsOfSeveralArraysInOneExpression) {
  Random random(22);
  for (int round = 0; round < (test::kind_is_slow() ? 60 : 1500); ++round) {
    const Ints shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 6);
    const Ints big(shape.size(), 13);
    const auto view = [&] {
      Seen<int> seen{to_device(counted<int>(big)), test::whole(big)};
      seen = random.coin() ? random.shuffle(seen) : seen;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        seen = random.cut(seen, d, random.exactly(shape[d], 13));
      }
      return seen;
    };
    const auto x = view(), y = view(), out = view();
    out.array(ellipsis) = x.array - y.array * 3;
    std::vector<int> want = counted<int>(big).list();
    for (std::size_t k = 0; k < x.model.at.size(); ++k) {
      want[static_cast<std::size_t>(out.model.at[k])] =
          static_cast<int>(x.model.at[k] - 3 * y.model.at[k]);
    }
    const DeviceNDArray<int> base(
        {test::as_shape(big), c_strides(test::as_shape(big), sizeof(int))},
        out.array.buffer()->data(), out.array.buffer());
    ASSERT_EQ(values(base), want) << "round " << round;
  }
}

TEST(Evaluate, MisalignedElementsAreReadAndWritten) {
  struct Row {
    char tag;
    double value;
  } __attribute__((packed));
  static_assert(sizeof(Row) == 9);
  std::vector<char> bytes(9 * 20, 'x');
  const auto raw = to_device(bytes);
  const DeviceNDArray<double> field({Shape{20}, Strides{9}}, raw.device_pointer() + 1,
                                    raw.buffer());
  const auto whole = arange(20.0);
  field(all) = whole + 1.0;
  field += field(range(_, _, -1)) * 0.0;
  EXPECT_EQ(sum(field).item(), 210.0);
  EXPECT_EQ(argmax(field).item(), 19);
  const DeviceNDArray<double> twice = field * 2.0;
  EXPECT_EQ(values(twice)[19], 40.0);
  EXPECT_EQ(values(field)[3], 4.0);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(values(raw)[9 * i], 'x');
}

TEST(Evaluate, CopiesThatConvertReadAndWriteMisalignedElements) {
  const std::vector<char> bytes(9 * 20 + 1, 'x');
  for (const bool waits : {true, false}) {
    const auto raw = to_device(bytes);
    const DeviceNDArray<double> field({Shape{20}, Strides{9}}, raw.device_pointer() + 1,
                                      raw.buffer());
    const auto numbers = test::counted<float>({20});
    const Stream other = stream();
    waits ? field.copy_to_device(numbers) : field.copy_to_device(numbers, other);
    if (!waits) other.synchronize();
    EXPECT_EQ(values(field)[19], 19.0);
    std::vector<std::complex<double>> wide(20);
    waits ? field.copy_to_host(wide) : field.copy_to_host(wide, other);
    if (!waits) other.synchronize();
    EXPECT_EQ(wide[7], 7.0);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(values(raw)[9 * i], 'x');
  }
}

TEST(Evaluate, ManyOperandsFitOneKernelOrAreRefused) {
  const auto a = ones<float>({5});
  auto eight = a + a + a + a + a + a + a + a;
  auto forty = eight + eight + eight + eight + eight;
  EXPECT_EQ(values(eval(forty)), std::vector<float>(5, 40));
  const auto b = ones<float>({5, 5, 5, 5, 5, 5, 5})(all, range(_, _, 2), range(_, _, -2), all,
                                                    range(_, _, 2), range(_, _, -2), range(1, 3));
  auto ten = b + b + b + b + b + b + b + b + b + b;
  auto sixty = ten + ten + ten + ten + ten + ten;
  std::optional<DeviceNDArray<float>> result;
  EXPECT_THROW(result = eval(sixty + sixty + sixty + sixty), LogicError);
  EXPECT_EQ(eval(ten)(0, 0, 0, 0, 0, 0, 0).item(), 10.f);
}

TEST(Evaluate, ArraysOfTwoDevicesInOneExpressionAreRefused) {
  const Device here;
  if (here.is_cpu()) GTEST_SKIP() << "needs a GPU beside the CPU";
  const auto on_gpu = ones<float>({3});
  const auto on_cpu = ones<float>({3}, {.device = Device::cpu()});
  std::optional<DeviceNDArray<float>> result;
  EXPECT_THROW(result = eval(on_gpu + on_cpu), LogicError);
  EXPECT_THROW(on_cpu += on_gpu, LogicError);
  EXPECT_THROW(sum(on_gpu * on_cpu), LogicError);
  EXPECT_EQ(values(on_gpu + 1.f), std::vector<float>(3, 2));
}

TEST(Evaluate, CopiesGoFromDeviceToDevice) {
  const auto host = counted<int>({4, 6});
  const auto a = to_device(host)(all, range(_, _, -2));
  const auto there = to_device(a, Device::cpu());
  EXPECT_EQ(values(there), values(a));
  EXPECT_EQ(there.device(), Device::cpu());
  const auto back = to_device(there, a.device());
  EXPECT_EQ(values(back), values(a));
  const auto target = zeros<int>({3, 4}, {.device = Device::cpu()}).transpose();
  target.copy_to_device(a);
  EXPECT_EQ(values(target), values(a));
}

TEST(Evaluate, AResultGoesToTheStreamOfItsFirstArray) {
  const auto s = stream();
  const auto a = full<float>({100}, 1.f, {.stream = s});
  const DeviceNDArray<float> b = a + 1.f;
  EXPECT_EQ(b.stream(), s);
  const auto t = stream();
  {
    const StreamGuard guard(t);
    const DeviceNDArray<float> c = a.bind(s) + 1.f;
    EXPECT_EQ(c.stream(), t);
    EXPECT_EQ(zeros<float>({3}).stream(), t);
    EXPECT_EQ(current_stream(), t);
  }
  EXPECT_EQ(current_stream(), default_stream());
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(b(99).item(), 2.f);
}

TEST(Evaluate, WritingThroughAViewInAStreamDoesNotWait) {
  const auto s = stream();
  const auto a = zeros<int>({10}, {.stream = s});
  a(1) = a(2) + 1;  // a kernel's first use may compile and load it
  a(0) = 1;
  a(range(2, 4)) = a(range(3, 5)) + 1;
  s.synchronize();
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  a(0) = 10;
  a(range(2, 4)) = a(range(3, 5)) + 1;
  EXPECT_FALSE(s.is_done());
  open.set_value();
  EXPECT_EQ(values(a), (std::vector{10, 1, 2, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Evaluate, ArraysDroppedWhileWorkIsPending) {
  const auto s = stream();
  const StreamGuard guard(s);
  DeviceNDArray<double> total = zeros<double>({1000});
  for (int i = 0; i < 50; ++i) {
    const auto part = full<double>({1000}, double(i));
    total += part * 2.0;
  }
  EXPECT_EQ(total(999).item(), 2450.0);
}

}  // namespace
}  // namespace quarry
