// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/elementwise_kernel.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/kernels/host_kernel.hpp"
#include "gate.hpp"
#include "ops/text_kernels.hpp"

namespace quarry {
namespace {

using expr::TextArgument;
using test::message_of;
using test::Random;
using test::set_on_host;
using test::TextKernels;
using test::values;

using Size = std::int64_t;

/// The function of output k for arrays of these types.
template <class... T>
const kernels::source_text& function_of(const ElementwiseKernel<>& kernel, std::size_t k,
                                        std::initializer_list<DType> out) {
  const TextArgument in[] = {{dtype_of<T>}...};
  return kernel.text().function(k, in, std::vector<DType>(out));
}

TEST_F(TextKernels, UntypedOnesHaveTheTypesOfTheirArguments) {
  const ElementwiseKernel f("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff");
  set_on_host(
      function_of<float, float>(f, 0, {dtype_of<float>}),
      +[](float x, float y, Size) { return (x - y) * (x - y); });
  set_on_host(
      function_of<int, int>(f, 0, {dtype_of<double>}),
      +[](int x, int y, Size) { return double((x - y) * (x - y)); });
  const auto a = arange<float>(4);
  const DeviceNDArray<float> z = f(a * 2.f, a);
  EXPECT_EQ(values(z), (std::vector<float>{0, 1, 4, 9}));
  const auto out = zeros<double>({2, 4});
  const auto i = arange<int>(4);
  f(i, eval(i - 1)).into(out(1));
  EXPECT_EQ(values(out), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(message_of<DTypeError>([&] { f(a, i); }),
            "the kernel squared_diff: T is float32 and, in y, int32");
}

/// Of an int and a double as outputs.
ElementwiseKernel<> divided() {
  const ElementwiseKernel f("float32 x, int32 by", "int32 whole, float32 rest",
                            "whole = (int)x / by; rest = x - whole * by", "divided");
  const std::initializer_list<DType> types{dtype_of<int>, dtype_of<double>};
  set_on_host(
      function_of<float, int>(f, 0, types),
      +[](float x, int by, Size) { return static_cast<int>(x) / by; });
  set_on_host(
      function_of<float, int>(f, 1, types), +[](float x, int by, Size) {
        return double{x - static_cast<float>(static_cast<int>(x) / by * by)};
      });
  return f;
}

TEST_F(TextKernels, UntypedOnesHaveSeveralOutputs) {
  const ElementwiseKernel f = divided();
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    const auto x = test::drawn<float>(random, std::size_t(random.between(1, 3)), 12,
                                      [](std::size_t i) { return float(i) + 0.5f; });
    const auto [whole, rest] = f(x.array, 7).as<int, double>();
    const auto wholes = values(whole);
    const auto rests = values(rest);
    for (std::size_t k = 0; k < wholes.size(); ++k) {
      ASSERT_EQ(wholes[k], x.model.at[k] / 7);
      ASSERT_EQ(rests[k], double(x.model.at[k] % 7) + 0.5);
    }
  }
  const auto x = arange<float>(10);
  const auto whole = zeros<int>({2, 10});
  const auto rest = zeros<double>({2, 10});
  f(x, 4).into(whole, rest);
  EXPECT_EQ(values(whole(1)), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(values(rest(0)), (std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1}));
  f(x, 5).into(x.astype<int>(), rest(0));
  EXPECT_EQ(rest(0)(7).item(), 2);
  const auto dense = zeros<int>({10});
  const auto dense_rest = zeros<double>({10});
  const auto launches = test::launches();
  f(x, 4).into(dense, dense_rest);
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(test::launches(), launches + 1) << "dense outputs need no others";
  }
  EXPECT_EQ(values(dense), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(message_of<LogicError>([&] { f(x, 4).into(whole); }),
            "the kernel divided has 2 outputs, not 1");
  EXPECT_THROW(f(x, 4).into(whole, zeros<double>({10})), ShapeError);
}

TEST_F(TextKernels, OutputsOfSeveralStreamsAreWrittenInThatOfTheFirst) {
  const ElementwiseKernel f = divided();
  const Stream first = stream({.non_blocking = true}), second = stream({.non_blocking = true});
  const auto x = arange<float>(4);
  const auto whole = zeros<int>({4}, {.stream = first});
  const auto rest = zeros<double>({4, 2}, {.stream = second});
  f(x, 2).into(whole, rest(all, 1));  // the driver loads kernels at their first launch
  synchronize();
  {
    test::Gate gate(first);
    f(x, 3).into(whole, rest(all, 1));
    second.synchronize();
  }
  synchronize();
  EXPECT_EQ(values(whole), (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(values(rest(all, 1)), (std::vector<double>{0, 1, 2, 0}));
}

TEST_F(TextKernels, UntypedOnesAreOfOneDevice) {
  const ElementwiseKernel f = divided(), first("raw T x", "T z", "z = x[0]", "first_of");
  const auto x = arange<float>(4);
  const auto on_cpu = full<double>({4}, 1, {.device = Device::cpu()});
  EXPECT_EQ(message_of<LogicError>([&] { f(x, 3).into(zeros<int>({4}), on_cpu); }),
            "outputs on cuda:0 and on cpu: one kernel writes to one device");
  EXPECT_EQ(message_of<LogicError>([&] { first(Raw(on_cpu)).into(zeros<double>({4})); }),
            "a raw argument lies on cpu, the output on cuda:0");
}

TEST_F(TextKernels, UntypedOnesReadRawArraysAnywhere) {
  const ElementwiseKernel f("raw T x, int64 shift", "T z",
                            "z = x[(i + shift) % _ind.size()] + (T)n", "rotated");
  const TextArgument in[] = {{dtype_of<float>, TextArgument::Form::raw}, {dtype_of<int>}};
  set_on_host(
      f.text().function(0, in, std::vector<DType>{dtype_of<float>}),
      +[](const float* x, int shift, Size n, Size i) {
        const auto address = reinterpret_cast<CUdeviceptr>(x);
        const auto* const from = reinterpret_cast<const float*>(
            fake::HostLaunch().find(address, sizeof(float) * std::size_t(n)));
        return from[(i + shift) % n] + static_cast<float>(n);
      });
  DeviceNDArray<float> z = zeros<float>({5});
  f(Raw(arange<float>(5)), 2).into(z);  // the array is dropped at once
  EXPECT_EQ(values(z), (std::vector<float>{7, 8, 9, 5, 6}));
  EXPECT_THROW(f(Raw(arange<float>(10)(range(_, _, 2))), 2), LogicError);
  EXPECT_EQ(message_of<LogicError>([&] { f(z, 2); }),
            "the kernel rotated: the parameter x is raw, and its argument is not: give Raw(array)");
  EXPECT_EQ(message_of<DTypeError>([&] { f(Raw(z), 2.5); }),
            "the kernel rotated: float64 does not convert to the int64 of shift");
}

TEST_F(TextKernels, RawArraysStayUntilTheKernelIsDone) {
  const ElementwiseKernel f("raw T x", "T z", "z = x[0]", "first_of");
  const TextArgument in[] = {{dtype_of<float>, TextArgument::Form::raw}};
  set_on_host(
      f.text().function(0, in, std::vector<DType>{dtype_of<float>}), +[](const float* x, Size) {
        const auto address = reinterpret_cast<CUdeviceptr>(x);
        return *reinterpret_cast<const float*>(fake::HostLaunch().find(address, sizeof(float)));
      });
  const Stream first = stream(), other = stream();
  for (int round = 0; round < 20; ++round) {
    auto x = full<float>({300}, 1.f, {.stream = first});
    first.synchronize();
    DeviceNDArray<float> z;
    {
      const StreamGuard guard(other);
      z = zeros<float>({100});
      f(Raw(x)).into(z);
    }
    x = {};
    const auto next = full<float>({300}, 9.f, {.stream = first});  // elsewhere, or after the kernel
    first.synchronize();
    ASSERT_EQ(values(z), std::vector<float>(100, 1)) << round;
  }
}

TEST_F(TextKernels, UntypedOnesMayOverlapTheirOutputs) {
  const ElementwiseKernel f("float x", "float z", "z = x + 1", "more");
  set_on_host(
      function_of<float>(f, 0, {dtype_of<float>}), +[](float x, Size) { return x + 1; });
  const auto a = arange<float>(6);
  f(a(range(0, 5))).into(a(range(1, 6)));
  EXPECT_EQ(values(a), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_THROW(f(a).into(a(range(3))), ShapeError);
}

TEST(UntypedElementwise, RefusesWhatAreNoParameters) {
  const auto made = [](const char* in, const char* out) {
    return message_of<LogicError>([&] { ElementwiseKernel(in, out, "z = x", "f"); });
  };
  EXPECT_EQ(made("float", "T z"), "\"float\" is no parameter, in \"float\": a type and a name are");
  EXPECT_EQ(made("T x, T x", "T z"), "two parameters are named x, in \"T x, T x\"");
  EXPECT_EQ(made("T x", "T x"), "two parameters are named x, in \"T x,T x\"");
  EXPECT_EQ(made("T x", ""), "f has no output");
  EXPECT_EQ(made("flaot32 x", "T z"), "f: flaot32 is no element type, in \"flaot32 x\"");
  EXPECT_EQ(made("T x", "raw T z"),
            "f: the parameter z is a pointer or a raw output: use PointerKernel");
  EXPECT_EQ(made("T* x", "T z"),
            "f: the parameter x is a pointer or a raw output: use PointerKernel");
}

TEST(UntypedElementwise, RefusesArgumentsThatTheParametersDoNotTake) {
  const ElementwiseKernel f("int32 x, T y", "U z", "z = x", "f");
  const auto a = ones<float>({2});
  EXPECT_EQ(message_of<LogicError>([&] { f(a); }),
            "the kernel f has 2 inputs, not 1; its outputs are those of into()");
  EXPECT_EQ(message_of<DTypeError>([&] { f(a, a); }),
            "the kernel f: float32 does not convert to the int32 of x");
}

TEST(UntypedElementwise, RefusesIntegersThatTheTypeDoesNotHold) {
  const ElementwiseKernel f("T x, uint8 by, int64 from", "T z", "z = x", "f");
  const auto a = ones<float>({2});
  const auto refused = [](const auto& call) { return message_of<DTypeError>(call); };
  f(a, 255, std::int64_t{-1} << 63), f(a, 0, 0);
  EXPECT_NE(refused([&] { f(a, 300, 0); }).find("300"), std::string::npos);
  EXPECT_NE(refused([&] { f(a, -1, 0); }).find("-1"), std::string::npos);
  EXPECT_THROW(f(a, 0, ~std::uint64_t{0}), DTypeError);
  const ElementwiseKernel of_bytes("T x, T y", "T z", "z = x + y", "of_bytes");
  const auto bytes = ones<std::int8_t>({2});
  of_bytes(bytes, -128), of_bytes(bytes, 127);
  EXPECT_THROW(of_bytes(bytes, 128), DTypeError);
  EXPECT_THROW(of_bytes(bytes, -129), DTypeError);
  EXPECT_THROW(of_bytes(bytes, -257), DTypeError);
}

TEST(UntypedElementwise, RefusesRawArraysThatAreNotAligned) {
  const ElementwiseKernel f("raw T x", "T z", "z = x[0]", "f");
  EXPECT_EQ(message_of<LogicError>([&] { f(Raw(test::misaligned<float>(4))); }),
            "an array of float32 whose elements are not aligned is no raw argument: copy()");
}

TEST(UntypedElementwise, SeesMemoryThatSeveralBuffersHave) {
  const auto a = ones<float>({6}), b = ones<float>({5}), apart = ones<float>({5});
  const DeviceNDArrayBase& again = test::adopted(a)(range(1, 6));
  const DeviceNDArrayBase& in = a(range(0, 5));
  const auto can = [](std::array<const DeviceNDArrayBase*, 2> outs, const DeviceNDArrayBase& of) {
    const DeviceNDArrayBase* const arrays[] = {&of};
    return expr::can_write_together(outs.data(), 2, arrays, 1);
  };
  EXPECT_TRUE(can({&b, &apart}, in));
  EXPECT_FALSE(can({&b, &again}, in));
  EXPECT_FALSE(can({&again, &in}, apart));
}

TEST(UntypedElementwise, IsForGpus) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "of the CPU device";
  const ElementwiseKernel f("T x", "T z", "z = x", "f");
  const auto a = ones<float>({2});
  EXPECT_THROW(f(a).into(a), LogicError);
  EXPECT_THROW(f(a).as<float>(), LogicError);
}

}  // namespace
}  // namespace quarry
