// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <optional>
#include <thread>

#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "fake_driver/shim.hpp"

/// Kernels that wait themselves for the work ahead of them, those of maps and reductions, are
/// launched before it is done; others are not.
namespace quarry::backend {
namespace {

using namespace kernels;
namespace shim = cuda::shim;
using cuda::DriverFunction;

using Copy = map_of<in<int, 0>, int, 0, int>;
using Total = reduction_of<in<int, 0>, sum_of, i64, i64, 0, int>;

class EarlyLaunches : public OverFake {};

TEST_F(EarlyLaunches, AreThoseOfMapsAndReductions) {
  constexpr i64 n = 100000;
  const OnDevice<int> in(gpu(), std::vector<int>(n, 3)), copy(gpu(), std::vector<int>(n));
  const OnDevice<i64> out(gpu(), {0});
  shim::reset_counts();
  gpu().launch(test::flat_call(program_for<Copy>::value, n, {copy.data(), in.data()}),
               no_workspace(), nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 1);
  KernelCall call =
      test::call_of(program_for<Total>::value, {}, {n}, {{out.data()}, {copy.data(), {4}}});
  call.along_reduced = true;
  DeviceWorkspace workspace(gpu());
  gpu().launch(call, workspace, nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 3);  // in splits, which are combined
  EXPECT_EQ(out.values()[0], 3 * n);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernel), 0);
}
TEST_F(EarlyLaunches, AreThoseOfEveryMap) {
  const OnDevice<int> in(gpu(), std::vector<int>(4096, 3)), out(gpu(), std::vector<int>(4096));
  using test::Extents;
  const auto copy = [&](const Extents& shape, const Extents& to, const Extents& from, i64 first,
                        std::string_view kernel) {
    shim::reset_counts();
    KernelCall call = test::call_of(program_for<Copy>::value, shape, {},
                                    {{out.data(), to}, {in.data() + first, from}});
    call.any_order = true;
    gpu().launch(call, no_workspace(), nullptr);
    EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 1) << kernel;
    EXPECT_NE(fake::last_kernel().find(kernel), std::string::npos) << fake::last_kernel();
  };
  copy({40, 9}, {64, 4}, {64, 4}, 0, "map_strided<");
  copy({8, 9}, {36, 4}, {0, 4}, 1, "map_across<");
  copy({1000}, {4}, {8}, 0, "map_unaligned<");
  copy({64, 64}, {256, 4}, {4, 256}, 0, "map_tiled<");
}

/// Reductions, whose kernels read their inputs before the work ahead of them is done where that
/// writes something else.
class ReadsAhead : public EarlyLaunches {
 protected:
  static constexpr i64 n = 1000;
  using Ints = OnDevice<int>;

  void SetUp() override {
    EarlyLaunches::SetUp();
    if (IsSkipped()) return;
    results_.emplace(gpu(), std::vector<i64>(16 * results));
  }
  void TearDown() override {
    results_.reset();
    EarlyLaunches::TearDown();
  }

  /// Of n elements from `first` on.
  fake::Beginning total(const Ints& of, Stream stream = nullptr, bool is_private = true,
                        i64 first = 0) {
    KernelCall call = total_of(of.data() + first);
    call.inputs_are_private = is_private;
    gpu().launch(call, no_workspace(), stream);
    return fake::last_beginning();
  }
  KernelCall total_of(int* first) {
    i64* const to = results_->data() + next_++ % results * 16;  // each in a line of its own
    KernelCall call = test::call_of(program_for<Total>::value, {}, {n}, {{to}, {first, {4}}});
    call.along_reduced = true;
    return call;
  }
  static void copy(const Ints& from, const Ints& to, Stream stream = nullptr) {
    gpu().launch(test::flat_call(program_for<Copy>::value, n, {to.data(), from.data()}),
                 no_workspace(), stream);
  }
  static Ints ints(int value = 3, i64 size = n) {
    return {gpu(), std::vector<int>(static_cast<std::size_t>(size), value)};
  }
  static constexpr fake::Beginning ahead{true, true, false}, anew{true, false, true},
      behind{true, false, false};

 private:
  static constexpr int results = 64;
  std::optional<OnDevice<i64>> results_;
  int next_ = 0;
};

TEST_F(ReadsAhead, OfKernelsThatWriteSomethingElse) {
  const Ints a = ints(), b = ints(), c = ints();
  EXPECT_EQ(total(a), anew);
  EXPECT_EQ(total(b), ahead);
  EXPECT_EQ(total(b), ahead);
  copy(a, c);
  EXPECT_EQ(total(b), ahead);
  EXPECT_EQ(total(c), behind);
  EXPECT_EQ(total(a), ahead);
  EXPECT_EQ(total(c), behind);  // the copy may still be running
}
TEST_F(ReadsAhead, OfNoKernelThatWritesTheSameLines) {
  constexpr i64 line = 32, written = 32 * line + 8;  // elements; up to the middle of line 63
  const Ints a = ints(), all = ints(3, 4 * n);
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(all.data()) % 128, 0u);
  const auto total_from = [&](i64 first) {
    gpu().is_done(nullptr);  // begins anew
    total(a);
    gpu().launch(test::flat_call(program_for<Copy>::value, n, {all.data() + written, a.data()}),
                 no_workspace(), nullptr);
    return total(all, nullptr, true, first);
  };
  EXPECT_EQ(total_from(64 * line), ahead);
  EXPECT_EQ(total_from(64 * line - 1), behind);
  EXPECT_EQ(total_from(written), behind);
  EXPECT_EQ(total_from(32 * line - n + 1), behind);
  EXPECT_EQ(total_from(32 * line - n), ahead);
}
TEST_F(ReadsAhead, OfNothingElseThanKernels) {
  const Ints a = ints(), b = ints();
  const auto after = [&](const char* what, auto work) {
    total(a);
    EXPECT_EQ(total(b), ahead) << what;
    work();
    EXPECT_EQ(total(b), anew) << what;
  };
  int host = 0;
  const Event event = gpu().create_event(EventKind::untimed, false);
  const Stream other = gpu().create_stream(StreamOrder::independent, 0);
  after("copy", [&] {
    gpu().copy({Direction::host_to_device, a.data(), &host, 4}, nullptr, false);
  });
  after("fill", [&] { gpu().fill(a.data(), &host, 4, n, nullptr); });
  after("wait", [&] { gpu().wait(nullptr, event); });
  after("record", [&] { gpu().record(event, nullptr); });
  after("synchronize", [&] { gpu().synchronize(other); });
  after("is_done", [&] { gpu().is_done(nullptr); });
  after("host_call", [&] {
    gpu().host_call(
        nullptr, [](void*) {}, nullptr, [](void*, const auto&) {});
  });
  after("allocate", [&] { ints(); });
  after("another stream", [&] { total(a, other); });
  after("another thread", [&] { std::thread([&] { total(a); }).join(); });
  gpu().destroy_stream(other);
  gpu().destroy_event(event);
}
TEST_F(ReadsAhead, OfNothingWhereOthersHaveTheAddress) {
  const Ints a = ints(), b = ints();
  total(a);
  EXPECT_EQ(total(b, nullptr, false), behind);
  EXPECT_EQ(total(b), ahead);
}
TEST_F(ReadsAhead, OfNothingInGraphs) {
  const Ints a = ints(), b = ints();
  total(a);
  KernelCall call = total_of(b.data());
  call.inputs_are_private = call.is_captured = true;
  gpu().launch(call, no_workspace(), nullptr);
  EXPECT_EQ(fake::last_beginning(), behind);
  EXPECT_EQ(total(b), anew);
}
TEST_F(ReadsAhead, OfFewKernels) {
  const Ints a = ints();
  ASSERT_EQ(total(a), anew);
  int in_a_row = 0, most = 0;
  for (int i = 0; i < 100; ++i) {
    in_a_row = total(a) == ahead ? in_a_row + 1 : 0;
    most = std::max(most, in_a_row);
  }
  EXPECT_GE(most, 8);
  EXPECT_LT(most, 20);
}
/// Maps do not wait first: behind them what was there before is as unknown.
TEST_F(ReadsAhead, OnlyOfWhatIsKnown) {
  const Ints a = ints(), b = ints();
  gpu().synchronize();
  copy(a, b);
  copy(a, b);
  EXPECT_EQ(total(a), anew);
}

}  // namespace
}  // namespace quarry::backend
