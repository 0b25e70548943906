// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/runtime/compile.hpp>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// Functions of expressions as code that kernels from CUDA source can call: Numba's compile_ptx of
/// a function with device=True.
namespace quarry {

namespace detail {

/// A QUARRY_FUNCTION and the types of one call of it, as kernels name them.
struct FunctionCall {
  std::string_view type;  ///< of its class
  const char* source;
  std::string_view result;
  std::span<const std::string_view> arguments;
};
std::string function_ptx(const FunctionCall& call, const CompileOptions& options);

template <class E>
struct CalledFunction;
template <class F, class... A>
struct CalledFunction<kernels::call<F, A...>> {
  using type = F;
};

}  // namespace detail

/// The PTX of a QUARRY_FUNCTION for arguments of these types, and the type that it returns:
///
///     QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a * x + y);
///     auto [ptx, type] = qy::compile_ptx<float, float, double>(saxpy, {.cc = {9, 0}});
///
/// It is relocatable code of `extern "C" __device__ double saxpy(float, float, double)`, to be
/// linked with the kernels that call it (Linker::add_ptx). Half-precision and complex numbers are
/// those of the headers quarry/kernels. Throws as compile_ptx() of a source.
template <Number... A, class F>
std::pair<std::string, DType> compile_ptx(const F& function, const CompileOptions& options = {}) {
  using Call = decltype(function(std::declval<const DeviceNDArray<A>&>()...));
  using User = typename detail::CalledFunction<typename expr::Lowered<Call>::type>::type;
  using R = typename Call::kernel_type;
  const std::array<std::string_view, sizeof...(A)> types{kernels::type_name<kernel_type_t<A>>()...};
  return {detail::function_ptx(
              {kernels::type_name<User>(), User::quarry_source, kernels::type_name<R>(), types},
              options),
          dtype_of<expr::host_of_t<R>>};
}

}  // namespace quarry
