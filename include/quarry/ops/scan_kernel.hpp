// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/module.hpp>
#include <quarry/expr/evaluate.hpp>

#include <memory>
#include <string>
#include <string_view>

/// Scans (prefix sums and the like) whose operation is a text, for GPUs, as PyCUDA's.
namespace quarry {

/// What scan kernels may have besides their operation.
struct ScanOptions {
  std::string_view name = "scan";  ///< an identifier: the kernels are NAME_totals, ..._write
  std::string_view preamble = {};  ///< functions that the operation uses, as CUDA C++
  CompileOptions compile = {};     ///< for NVRTC; `device` is that of the arrays
};

namespace expr {

/// A scan of elements of one type.
class ScanText {
 public:
  /// Exclusive with the text `neutral`, inclusive without one. Throws LogicError for a name that is
  /// no identifier and for no operation.
  ScanText(DType type, std::string_view scan_expr, const std::string_view* neutral,
           const ScanOptions& options);

  /// Scans along the last axis. Both are such as require_scan() and can_scan() take, of the type
  /// and of one shape; `out` may be `in`. Throws CompileError.
  void run(const DeviceNDArrayBase& in, const DeviceNDArrayBase& out) const;
  /// The source for NVRTC.
  const std::string& source() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Throws LogicError on the CPU device, ShapeError for 0-d arrays.
void require_scan(const DeviceNDArrayBase& array, const Shape& shape);
/// Whether the kernels take the array where it is: it is C-contiguous and aligned.
bool can_scan(const DeviceNDArrayBase& array);
/// Throws ShapeError unless the result fits.
void require_scan_output(const Shape& in, const DeviceNDArrayBase& out);

/// The calls of both kinds of kernels.
template <Number T>
class ScanKernel {
 public:
  ///@{
  /// The scan along the last axis, in a new array, of arrays of any layout and of expressions,
  /// which are computed first; elements are converted to T as in an assignment. Queued in the
  /// stream of the first array; does not wait. Results are the same in every run. Throws ShapeError
  /// for 0-d arrays, LogicError on the CPU device, CompileError with the compiler's log, which
  /// names lines of the operation by the kernel's name.
  template <Operand X>
  DeviceNDArray<T> operator()(const X& x) const {
    require_type<X>();
    const auto tree = tree_of<T>(x);
    require_scan(*Arguments(tree).array[0], tree.shape());
    if constexpr (is_plain<X>) {
      if (can_scan(x)) {
        const DeviceNDArray<T> out(x.shape(), quarry::detail::stream_for(x));
        text_.run(x, out);
        return out;
      }
    }
    const DeviceNDArray<T> out(tree.shape(), quarry::detail::home_of(x));
    evaluate_tree<T>(out, tree);
    text_.run(out, out);
    return out;
  }
  /// The same into `out`, of the shape of `x`, also `x` itself. Queued in its stream.
  template <Operand X>
  void operator()(const X& x, const DeviceNDArray<T>& out) const {
    require_type<X>();
    require_scan_output(x.shape(), out);
    const StreamGuard guard(quarry::detail::stream_for(out));
    if constexpr (is_plain<X>) {
      if (can_scan(x) && can_scan(out) &&
          (x.address() == out.address() || !x.buffer()->shares_memory(*out.buffer()))) {
        require_scan(x, x.shape());
        return text_.run(x, out);
      }
    }
    out.assign((*this)(x));
  }
  ///@}

  /// For the library itself.
  const ScanText& text() const { return text_; }

 protected:
  explicit ScanKernel(ScanText text) : text_(std::move(text)) {}

 private:
  template <class X>
  static constexpr bool is_plain =
      ArrayOperand<X>&& std::same_as<std::remove_const_t<typename X::value_type>, T>;
  template <class X>
  static constexpr void require_type() {
    static_assert(same_kind(dtype_of<typename X::value_type>, dtype_of<T>),
                  "the elements can lose their kind in the kernel's type: use astype");
  }

  ScanText text_;
};

}  // namespace expr

/// out[i] = x[0] + ... + x[i], with any operation that is associative; it need not be commutative.
/// `scan_expr` is its text, an expression of `a` and `b`, of which `a` is what comes first:
///     qy::InclusiveScanKernel<int> sums("a + b");
///     auto s = sums(x);  // PyCUDA scans in place: sums(x, x)
/// T is a number; in the texts half precision is `float16` and `bfloat16`, whose operators give
/// float, and complex numbers are `complex<float>` and `complex<double>`.
template <Number T>
class InclusiveScanKernel : public expr::ScanKernel<T> {
 public:
  /// Compiles nothing. Throws LogicError for a name that is no identifier.
  explicit InclusiveScanKernel(std::string_view scan_expr, const ScanOptions& options = {})
      : expr::ScanKernel<T>(expr::ScanText(dtype_of<T>, scan_expr, nullptr, options)) {}
};

/// The same without the element itself: out[0] is `neutral`, and out[i] = x[0] + ... + x[i - 1].
template <Number T>
class ExclusiveScanKernel : public expr::ScanKernel<T> {
 public:
  /// `neutral` is the text of the first result. Compiles nothing. Throws LogicError for a name that
  /// is no identifier.
  ExclusiveScanKernel(std::string_view scan_expr, std::string_view neutral,
                      const ScanOptions& options = {})
      : expr::ScanKernel<T>(expr::ScanText(dtype_of<T>, scan_expr, &neutral, options)) {}
};

}  // namespace quarry
