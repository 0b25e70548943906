// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/module.hpp>
#include <quarry/ops/kernel_parameters.hpp>

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// PyCUDA's form of an ElementwiseKernel: the operation indexes pointers.
namespace quarry {

/// The values of `i` in a PointerKernel: start, start + step, ... before stop.
struct IndexRange {
  ///@{
  /// As Python's slice has them; `step` is not 0.
  std::int64_t start = 0, stop = 0, step = 1;
  ///@}
};

/// What a PointerKernel may have besides its operation, as CUDA C++.
struct PointerKernelOptions {
  std::string_view preamble = {};    ///< functions and types that the operation uses
  std::string_view loop_prep = {};   ///< once per thread, before its elements
  std::string_view after_loop = {};  ///< once per thread, after them
  CompileOptions compile = {};       ///< for NVRTC; `device` is that of the arrays
};

namespace detail {

/// What is known of an argument at run time. Numbers have their own type in the kernel, and are
/// converted there.
struct PointerArgument {
  DType type;
  const DeviceNDArrayBase* array = nullptr;  ///< none of a number
};

/// The parts of a PointerKernel, and what it has compiled.
class PointerKernelState;

/// A kernel for arguments of these types, and how it is launched.
struct PointerLaunch {
  Function function;
  std::int64_t start, step, count, n;
  LaunchConfig config() const;
};
/// None if there is nothing to do. Throws what PointerKernel does.
std::optional<PointerLaunch> prepare_launch(PointerKernelState& state,
                                            std::span<const PointerArgument> arguments,
                                            const IndexRange* range);

template <class X>
PointerArgument pointer_argument(const X& x) {
  if constexpr (std::is_base_of_v<DeviceNDArrayBase, X>) {
    return {x.dtype(), &x};
  } else {
    static_assert(std::is_arithmetic_v<X>,
                  "a PointerKernel takes arrays on the device and numbers");
    return {dtype_of<X>};
  }
}

}  // namespace detail

/// A loop over the elements of dense arrays, for GPUs:
///     qy::PointerKernel scale("float *z, const float *x, float a", "z[i] = a * x[i]", "scale");
///     scale(z, x, 5);
/// The parameters are pointers, for which the call has arrays with elements of that type, all of
/// one size and C-contiguous or all F-contiguous, and numbers, which are converted. `n` is the
/// number of elements, `i` a position, both long long; the loop has any number of threads. Types
/// that the preamble defines are those of arrays of records. What has no side effects is rather an
/// ElementwiseKernel, which takes arrays of any layout and expressions.
class PointerKernel {
 public:
  /// Compiles nothing. Throws LogicError for what are no parameters, and without a pointer.
  PointerKernel(std::string_view arguments, std::string_view operation,
                std::string_view name = "kernel", const PointerKernelOptions& options = {});

  ///@{
  /// Queues the loop, over all positions or those of a range, in the current stream or that of the
  /// first array; does not wait. Compiles at the first call with arguments of such types. Throws
  /// LogicError for another number of arguments, arrays of other layouts or that are not aligned,
  /// and on the CPU device; ShapeError for arrays of several sizes; DTypeError for elements of
  /// another type; IndexError for a range that is not within the elements; CompileError with the
  /// compiler's log, which names lines of the operation by the kernel's name, and for a type of the
  /// preamble that has another size than the records.
  template <class... X>
  void operator()(const X&... x) const {
    launch(nullptr, x...);
  }
  template <class... X>
  void operator()(const IndexRange& range, const X&... x) const {
    launch(&range, x...);
  }
  ///@}

 private:
  template <class... X>
  void launch(const IndexRange* range, const X&... x) const {
    const std::array<detail::PointerArgument, sizeof...(X)> arguments{
        detail::pointer_argument(x)...};
    const auto made = detail::prepare_launch(*state_, arguments, range);
    if (made)
      made->function.launch(made->config(), x..., made->start, made->step, made->count, made->n);
  }

  std::shared_ptr<detail::PointerKernelState> state_;
};

}  // namespace quarry
