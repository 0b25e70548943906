// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <string_view>

#include <Eigen/Core>

#include <quarry/ops/elementwise_kernel.hpp>
#include <quarry/ops/reduction_kernel.hpp>
#include <quarry/ops/scan_kernel.hpp>
#include <quarry/quarry.hpp>

#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/cuda/jit/texts.hpp"

/// What the texts of kernels become for NVRTC, for every generation of GPUs.
namespace quarry {
namespace {

using namespace quarry::kernels;
using backend::cuda::compile_kernel;
using backend::cuda::kernel_source;
using backend::cuda::KernelSource;
using backend::cuda::Texts;
using backend::cuda::Variant;

class cuda_text_source : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
    if (kind && std::string_view(kind) != "cpu") GTEST_SKIP() << "needs no device: done once";
    if (!backend::cuda::load_nvrtc().table) GTEST_SKIP() << "no NVRTC on this machine";
  }
  static void compile_for_all(const KernelSource& source) {
    for (const char* const arch : {"sm_80", "sm_90", "sm_100"}) {
      EXPECT_FALSE(compile_kernel(source, {arch}).code.empty()) << arch;
    }
  }
};

template <class E, class Out, int S, class... In>
const program& map() {
  return program_for<map_of<E, Out, S, In...>>::value;
}

constexpr backend::cuda::FlatMap flat{1};

TEST_F(cuda_text_source, functions_are_spliced_into_maps) {
  const ElementwiseKernel<float(float, double)> f("x, sqrt", "x * sqrt", "f"),
      g("x, y", "if (x > y) return maximum(x, 1); return rsqrtf(x);", "sqrt",
        "__device__ int unused() { return 1; }");
  using Inner = call<text_function<float, 1>, in<float, 0>, cast<double, in<float, 1>>>;
  using Outer = op<add_op, float, call<text_function<float, 0>, Inner, in<double, 2>>, Inner>;
  const Texts texts{{{0, &f.text()}, {1, &g.text()}}};
  const auto source = kernel_source(map<Outer, float, 2, float, float, double>(),
                                    Variant(flat).with(nullptr, &texts));
  EXPECT_EQ(source.instantiation.find("text_function"), source.instantiation.npos);
  EXPECT_NE(source.instantiation.find("::f,"), source.instantiation.npos) << source.instantiation;
  EXPECT_NE(source.instantiation.find("::sqrt,"), source.instantiation.npos);
  EXPECT_NE(source.text.find("#line 1 \"sqrt\"\nif (x > y)"), source.text.npos);
  EXPECT_NE(source.text.find("#define map_flat map_flat_add_f_sqrt_sqrt_float32\n"),
            source.text.npos)
      << source.text.substr(0, 200);
  compile_for_all(source);
}

TEST_F(cuda_text_source, operations_may_make_complex_numbers) {
  using C = kernels::complex<float>;
  const ElementwiseKernel<std::complex<float>(std::complex<float>)> f(
      "z", "z * complex<float>{0, 1}", "turned");
  const Texts texts{{{0, &f.text()}}};
  using E = call<text_function<C, 0>, in<C, 0>>;
  compile_for_all(kernel_source(map<E, C, 1, C>(), Variant(flat).with(nullptr, &texts)));
}

/// One type of program, two texts: neither the sources nor the keys are the same.
TEST_F(cuda_text_source, keys_have_the_text) {
  using E = call<text_function<float, 0>, in<float, 0>>;
  using Kernel = ElementwiseKernel<float(float)>;
  const auto key = [](const Kernel& kernel) {
    const Texts texts{{{0, &kernel.text()}}};
    const auto source =
        kernel_source(map<E, float, 1, float>(), Variant(flat).with(nullptr, &texts));
    return backend::cuda::kernel_key(source, {"sm_90"});
  };
  const std::string of = key(Kernel("x", "x + 1", "f"));
  EXPECT_EQ(of, key(Kernel("x", "x + 1", "f")));
  EXPECT_NE(of, key(Kernel("x", "x + 2", "f")));
  EXPECT_NE(of, key(Kernel("x", "x + 1", "g")));
  EXPECT_NE(of, key(Kernel("x", "x + 1", "f", "int unused;")));
}

/// Files may change without the text: what includes some is not kept on disk.
TEST_F(cuda_text_source, knows_whether_files_are_read) {
  using E = call<text_function<float, 0>, in<float, 0>>;
  const auto reads = [](const char* preamble) {
    const ElementwiseKernel<float(float)> f("x", "x + 1", "f", preamble);
    const Texts texts{{{0, &f.text()}}};
    return kernel_source(map<E, float, 1, float>(), Variant(flat).with(nullptr, &texts))
        .may_read_files;
  };
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads("__device__ float one() { return 1; }"));
  EXPECT_TRUE(reads("#include \"/data/mine.cuh\"\n"));
}

/// A preamble may have a macro, too, of the name of the kernel.
TEST_F(cuda_text_source, macros_are_those_of_anything) {
  using E = call<text_function<float, 0>, in<float, 0>>;
  const ElementwiseKernel<float(float)> f("x", "map_flat(x, 1) + vec(x)", "f",
                                          "#define map_flat(a, b) ((a) + (b))\n"
                                          "#define vec(a) (2 * (a))\n");
  const Texts texts{{{0, &f.text()}}};
  compile_for_all(kernel_source(map<E, float, 1, float>(), Variant(flat).with(nullptr, &texts)));
}

TEST_F(cuda_text_source, names_are_those_of_anything) {
  using E = call<text_function<float, 0>, in<float, 0>>;
  for (const char* const name :
       {"twice", "quarry_text", "functions", "sqrt", "convert", "map_flat"}) {
    const ElementwiseKernel<float(float)> f("x", "twice(x) + sqrt(x)", name,
                                            "__device__ float twice(float x) { return 2 * x; }");
    const Texts texts{{{0, &f.text()}}};
    compile_for_all(kernel_source(map<E, float, 1, float>(), Variant(flat).with(nullptr, &texts)));
  }
}

TEST(cuda_text_variant, hash_has_the_texts) {
  const Texts one{}, two{};
  EXPECT_NE(Variant(flat).with(nullptr, &one).hash(), Variant(flat).with(nullptr, &two).hash());
  EXPECT_EQ(Variant(flat).with(nullptr, &one).hash(), Variant(flat).with(nullptr, &one).hash());
}

TEST_F(cuda_text_source, functions_have_every_type) {
  const auto compiled = []<class T>(std::type_identity<T>) {
    using K = kernel_type_t<T>;
    const ElementwiseKernel<T(T, T)> f("x, y", "x * y + x", "f");
    const Texts texts{{{0, &f.text()}}};
    using E = call<text_function<K, 0>, in<K, 0>, in<K, 1>>;
    const auto source = kernel_source(map<E, K, 1, K, K>(), Variant(flat).with(nullptr, &texts));
    EXPECT_FALSE(compile_kernel(source, {"sm_90"}).code.empty()) << dtype_of<T>.name();
  };
  compiled(std::type_identity<bool>());
  compiled(std::type_identity<std::int8_t>());
  compiled(std::type_identity<std::int64_t>());
  compiled(std::type_identity<std::uint16_t>());
  compiled(std::type_identity<double>());
  compiled(std::type_identity<std::complex<float>>());
  compiled(std::type_identity<Eigen::half>());
  compiled(std::type_identity<Eigen::bfloat16>());
}

TEST_F(cuda_text_source, untyped_functions_have_raw_arguments_and_positions) {
  const ElementwiseKernel f("T x, raw U y, int32 n", "T z, U w",
                            "z = x + i + n; w = y[i % _ind.size()]", "both");
  using expr::TextArgument;
  const TextArgument arguments[] = {{TypeId::float32},
                                    {TypeId::complex128, TextArgument::Form::raw},
                                    {TypeId::int32, TextArgument::Form::number}};
  const DType out[] = {TypeId::float64, TypeId::complex128};
  using C = kernels::complex<double>;
  const Texts texts{{{0, &f.text().function(1, arguments, out)}}};
  using E = call<text_function<C, 0>, in<float, 0>, val<const C*, 1>, val<int, 2>, val<i64, 3>,
                 iota<i64>>;
  compile_for_all(kernel_source(map<E, C, 4, float>(), Variant(flat).with(nullptr, &texts)));
}

TEST_F(cuda_text_source, reducers_are_spliced_into_reductions) {
  const ReductionKernel<float(float), double> r({.parameters = "x",
                                                 .map_expr = "twice(x)",
                                                 .reduce_expr = "max(a, b)",
                                                 .identity = "-INFINITY_",
                                                 .post_map_expr = "sqrt(a) / n",
                                                 .name = "largest",
                                                 .preamble = "#define INFINITY_ 1e300\n"
                                                             "template <class T> __device__ T "
                                                             "twice(T x) { return x + x; }"});
  using E = call<text_function<double, 0>, in<float, 0>>;
  const auto& of = program_for<reduction_of<E, text_reducer<1>, double, float, 2, float>>::value;
  const Texts texts{{{0, &r.map()}, {1, &r.reducer()}}};
  using backend::cuda::Reduce;
  for (const Reduce& variant :
       {Reduce{0, 1, 4, 1}, Reduce{1, 1, 4, 0, 4, 1}, Reduce{0, 1, 4, 2, 4, 1}}) {
    compile_for_all(kernel_source(of, Variant(variant).with(nullptr, &texts)));
  }
  compile_for_all(
      kernel_source(of, Variant(backend::cuda::ReduceFinish{0, 1}).with(nullptr, &texts)));
  using Nothing = call<text_function<float, 0>>;
  const Texts nothing{{{0, &r.of_nothing()}}};
  compile_for_all(kernel_source(map<Nothing, float, 1>(), Variant(flat).with(nullptr, &nothing)));
}

TEST_F(cuda_text_source, scans_compile) {
  const InclusiveScanKernel<double> sums("a + b");
  const ExclusiveScanKernel<bool> parity("a != b", "false",
                                         {.name = "parity", .preamble = "// nothing"});
  const ExclusiveScanKernel<std::complex<float>> products("a * b", "complex<float>{1, 0}");
  const ExclusiveScanKernel<std::complex<double>> totals("a + b", "0");
  const ExclusiveScanKernel<Eigen::half> halves("a < b ? b : a", "-1e4f");
  const InclusiveScanKernel<Eigen::bfloat16> short_halves("a + b");
  for (const std::string& source :
       {sums.text().source(), parity.text().source(), products.text().source(),
        totals.text().source(), halves.text().source(), short_halves.text().source()}) {
    for (const char* const arch : {"sm_80", "sm_90", "sm_100"}) {
      EXPECT_FALSE(compile_cubin(source, {.arch = arch}).empty());
    }
  }
}

TEST_F(cuda_text_source, messages_name_lines_of_the_operation) {
  const ElementwiseKernel<float(float)> f("x", "x +\n\n nonsense", "broken");
  const Texts texts{{{0, &f.text()}}};
  using E = call<text_function<float, 0>, in<float, 0>>;
  try {
    compile_kernel(kernel_source(map<E, float, 1, float>(), Variant(flat).with(nullptr, &texts)),
                   {"sm_90"});
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("broken(3): error: identifier \"nonsense\" is undefined"),
              std::string::npos)
        << e.log();
  }
}

}  // namespace
}  // namespace quarry
