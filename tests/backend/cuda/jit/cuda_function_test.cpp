// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "expr/function_table.hpp"

/// What user functions become for NVRTC.
namespace quarry::test::table {
namespace {

using namespace quarry::kernels;
using backend::cuda::kernel_source;

QUARRY_FUNCTION(total, (auto... x), (static_cast<double>(x) + ...));

template <class F, class Operation, int Arity>
struct called;
template <class Operation>
using operand = in<operand_of<Operation>, is_of_integers<typename Operation::domain> ? 1 : 0>;
template <class F, class O>
struct called<F, O, 1> {
  using type = call<F, operand<O>>;
};
template <class F, class O>
struct called<F, O, 2> {
  using type = call<F, operand<O>, operand<O>>;
};
template <class F, class O>
struct called<F, O, 3> {
  using type = call<F, operand<O>, operand<O>, operand<O>>;
};

#define QUARRY_UNARY(name, ...) called<call_##name##_function, name##_op, 1>::type,
#define QUARRY_BINARY(name, ...) called<call_##name##_function, name##_op, 2>::type,
#define QUARRY_TERNARY(name, ...) called<call_##name##_function, name##_op, 3>::type,
using all_rows = call<total_function,
#include <quarry/kernels/ops.def>
                      call<call_aliases_function, in<double, 0>>>;
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY

constexpr backend::cuda::FlatMap flat{1};

TEST(cuda_function, every_row_compiles_in_a_body) {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  if (kind && std::string_view(kind) != "cpu") GTEST_SKIP() << "needs no device: done once";
  if (!backend::cuda::load_nvrtc().table) GTEST_SKIP() << "no NVRTC on this machine";
  using rows = map_of<all_rows, double, 0, double, i64>;
  const auto source = kernel_source(program_for<rows>::value, flat);
  EXPECT_NE(source.text.find("maximum(x, y)"), source.text.npos);
  EXPECT_NO_THROW(backend::cuda::compile_kernel(source, {"sm_90"}));
}

QUARRY_FUNCTION(inner, (auto x), auto t = clip(x, 0.f, 1.f); return t * t;);
QUARRY_FUNCTION(middle, (auto x), inner(x) + inner(x + 1));
QUARRY_FUNCTION(outer, (auto x), middle(x) + inner(-x));

TEST(cuda_function, what_a_function_calls_is_defined_once_and_before_it) {
  using nested = map_of<call<outer_function, call<inner_function, in<float, 0>>>, float, 0, float>;
  const auto source = kernel_source(program_for<nested>::value, flat);
  const auto define = [&](const char* body) {
    const auto at = source.text.find(body);
    EXPECT_NE(at, source.text.npos) << body;
    EXPECT_EQ(source.text.find(body, at + 1), source.text.npos) << body;
    return at;
  };
  EXPECT_LT(define("{ auto t = clip(x, 0.f, 1.f); return t * t; }"),
            define("{ return inner(x) + inner(x + 1); }"));
  EXPECT_LT(define("{ return inner(x) + inner(x + 1); }"),
            define("{ return middle(x) + inner(-x); }"));
  if (backend::cuda::load_nvrtc().table) {
    EXPECT_NO_THROW(backend::cuda::compile_kernel(source, {"sm_90"}));
  }
}

}  // namespace
}  // namespace quarry::test::table
