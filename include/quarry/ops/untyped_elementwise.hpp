// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/text_node.hpp>
#include <quarry/ops/kernel_parameters.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

/// Elementwise kernels whose parameters are a text, too, as CuPy's.
namespace quarry {

/// An array of which an operation may read any element: the argument of a `raw` parameter.
template <class T>
struct Raw {
  using K = kernel_type_t<std::remove_const_t<T>>;  ///< of the elements, in kernels
  DeviceNDArray<T> array;                           ///< a handle
  /// Launches nothing.
  explicit Raw(const DeviceNDArray<T>& of) : array(of) {}
};

/// What an untyped kernel may have besides its operation.
struct ElementwiseOptions {
  std::string_view preamble = {};  ///< functions and types that the operation uses
};

template <class... A>
class ElementwiseCall;

namespace expr {

/// What is known of an argument at run time.
struct TextArgument {
  enum class Form : std::uint8_t { array, number, raw };
  DType type;
  Form form = Form::array;
  std::shared_ptr<Buffer> memory = nullptr;  ///< of a raw array
  ///@{
  /// The value of a number that is an integer, modulo 2^64, and whether it is below 0.
  std::uint64_t bits = 0;
  bool is_negative = false;
  ///@}
};

/// The parts of an ElementwiseKernel<>.
class ElementwiseText {
 public:
  ElementwiseText(std::string_view in_params, std::string_view out_params,
                  std::string_view operation, std::string_view name,
                  const ElementwiseOptions& options);

  const std::string& name() const { return name_; }
  /// Whether the operation mentions `i`, the position of the element.
  bool uses_position() const { return uses_position_; }
  /// Throws LogicError for another number of arguments or a form that the parameter has not,
  /// DTypeError for a type that it does not take and for an integer that its type does not hold.
  void check(std::span<const TextArgument> in) const;
  /// The function that computes output `k` of type `out[k]`. Throws the same of the outputs.
  const source_text& function(std::size_t k, std::span<const TextArgument> in,
                              std::span<const DType> out) const;

 private:
  struct Types;
  std::string source(std::size_t k, std::span<const TextArgument> in, std::span<const DType> out,
                     const Types& types) const;

  std::vector<KernelParameter> in_, out_;
  std::string operation_, name_, preamble_;
  bool uses_position_, has_n_;
  mutable std::mutex mutex_;  ///< of `functions_`
  /// By the output, the types and forms of the inputs, and the types of the outputs.
  mutable std::map<std::vector<int>, const source_text*> functions_;
};

/// Throws LogicError for a raw array that is not C-contiguous, or not aligned.
void require_raw(const DeviceNDArrayBase& array);
/// Throws LogicError for a raw array on another device than the output `out`.
void require_raw_on(std::span<const TextArgument> in, const DeviceNDArrayBase& out);
/// Throws ShapeError unless arguments of shape `in` broadcast to outputs of shape `out`.
void require_outputs(const Shape& in, std::span<const Shape> out);

/// Whether one kernel may write all outputs where they are: they are dense, and neither one
/// another's memory nor that of the arrays that it reads. If so the writes are noted. Throws
/// LogicError for outputs on several devices.
bool can_write_together(const DeviceNDArrayBase* const* outs, std::size_t out_count,
                        const DeviceNDArrayBase* const* arrays, std::size_t count);

template <class X>
struct UntypedArgument {
  static_assert(Operand<X>,
                "a kernel takes arrays, expressions and numbers; host memory goes to the device "
                "first, with to_device(h)");
  static TextArgument describe(const X&) { return {dtype_of<typename X::value_type>}; }
  static auto tree(const X& x) { return std::remove_cvref_t<decltype(as_tree(x))>(as_tree(x)); }
};
template <Scalar X>
struct UntypedArgument<X> {
  static TextArgument describe(const X& x) {
    TextArgument argument{dtype_of<X>};
    if constexpr (WeakScalar<X>) argument.form = TextArgument::Form::number;
    if constexpr (std::is_integral_v<X>) argument.bits = static_cast<std::uint64_t>(x);
    if constexpr (std::is_integral_v<X> && std::is_signed_v<X>) argument.is_negative = x < 0;
    return argument;
  }
  static auto tree(const X& x) {
    return Constant<kernel_type_t<X>>{quarry::detail::scalar_as<kernel_type_t<X>>(x)};
  }
};
template <class T>
struct UntypedArgument<Raw<T>> {
  static TextArgument describe(const Raw<T>& raw) {
    require_raw(raw.array);
    return {dtype_of<std::remove_const_t<T>>, TextArgument::Form::raw, raw.array.buffer()};
  }
  static auto tree(const Raw<T>& raw) {
    using K = typename Raw<T>::K;
    return Constant<const K*>{reinterpret_cast<const K*>(raw.array.address())};
  }
};

}  // namespace expr

template <class Signature = void>
class ElementwiseKernel;

/// CuPy's form: the types of parameters are texts, too, and there may be several outputs.
///     qy::ElementwiseKernel f("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff");
///     qy::DeviceNDArray<float> z = f(a, b);
///     f(a, b + 1).into(z);
///     auto [q, r] = g(a, b).as<float, int>();
/// A type is NumPy's name (float32), C's (unsigned int), or a letter, which stands for the type
/// that the arguments have: of all arrays the same. Arguments are arrays and expressions of any
/// layout, which broadcast and are computed in the same kernel, and numbers; for `raw T x` Raw(a),
/// whose elements are x[0], x[1], ... in C order. In the operation, statements, `i` is the position
/// of the element in C order, and `n`, or `_ind.size()`, the number of them, unless parameters have
/// these names. Outputs are not `raw`: see PointerKernel.
template <>
class ElementwiseKernel<void> {
 public:
  /// Compiles nothing. Throws LogicError for what are no parameters, DTypeError for what is no
  /// type.
  ElementwiseKernel(std::string_view in_params, std::string_view out_params,
                    std::string_view operation, std::string_view name = "kernel",
                    const ElementwiseOptions& options = {})
      : text_(std::make_shared<const expr::ElementwiseText>(in_params, out_params, operation, name,
                                                            options)) {}

  /// The call, which runs when it gets its outputs. Throws LogicError for another number of
  /// arguments, DTypeError for types that the parameters do not take (as in an assignment) and for
  /// integers that a parameter's type does not hold.
  template <class... X>
  auto operator()(const X&... x) const {
    std::vector<expr::TextArgument> arguments{expr::UntypedArgument<X>::describe(x)...};
    text_->check(arguments);
    return ElementwiseCall<decltype(expr::UntypedArgument<X>::tree(x))...>(
        text_, std::move(arguments), expr::UntypedArgument<X>::tree(x)...);
  }

  /// For the library itself.
  const expr::ElementwiseText& text() const { return *text_; }

 private:
  std::shared_ptr<const expr::ElementwiseText> text_;
};
///@{
/// Without a type in brackets the kernel is of parameters that are texts.
ElementwiseKernel(std::string_view, std::string_view, std::string_view)->ElementwiseKernel<void>;
ElementwiseKernel(std::string_view, std::string_view, std::string_view, std::string_view)
    ->ElementwiseKernel<void>;
ElementwiseKernel(std::string_view, std::string_view, std::string_view, std::string_view,
                  const ElementwiseOptions&)
    ->ElementwiseKernel<void>;
///@}

/// A call of an ElementwiseKernel<>, of trees A.
template <class... A>
class ElementwiseCall {
 public:
  /// For the library itself.
  ElementwiseCall(std::shared_ptr<const expr::ElementwiseText> text,
                  std::vector<expr::TextArgument> arguments, const A&... trees)
      : text_(std::move(text)), arguments_(std::move(arguments)), trees_(trees...) {}

  /// Runs one kernel that writes the outputs, arrays of one shape to which the arguments broadcast.
  /// Queued in the stream of the first output. Where an output overlaps an argument the result is
  /// as with a temporary, except for raw ones. Throws ShapeError, DTypeError for types that the
  /// outputs' do not convert to, LogicError for another number of outputs, for memory on several
  /// devices and on the CPU device, CompileError with the compiler's log.
  template <class... T>
  void into(const DeviceNDArray<T>&... out) const {
    static_assert(sizeof...(T) > 0, "a kernel has outputs");
    const Shape shapes[] = {out.shape()...};
    const Whole whole = all_trees();
    expr::require_outputs(whole.shape(), shapes);
    const DeviceNDArrayBase* const outs[] = {&out...};
    const expr::Arguments<Whole> arguments(whole);
    if (sizeof...(T) == 1 || expr::can_write_together(outs, sizeof...(T), arguments.array,
                                                      expr::Arguments<Whole>::arrays)) {
      run(out...);
    } else {
      const Stream stream = detail::stream_for(*outs[0]);
      const StreamGuard guard(stream);  // the outputs may have streams that nothing orders
      const std::tuple made(DeviceNDArray<T>(out.shape(), stream)...);
      std::apply([&](const auto&... made_one) { run(made_one...); }, made);
      std::apply([&](const auto&... made_one) { (out.assign(made_one), ...); }, made);
    }
  }
  /// The outputs in new arrays with elements of R...: an array, or a tuple of several. At least one
  /// argument is an array or an expression. Otherwise as into().
  template <Number... R>
  auto as() const {
    static_assert(sizeof...(R) > 0, "a kernel has outputs");
    static_assert(expr::Lowered<Whole>::next_array > 0, "no argument says the shape: use into()");
    const Whole whole = all_trees();
    const expr::Arguments<Whole> arguments(whole);
    const std::tuple made(DeviceNDArray<R>(arguments.result(whole.shape()))...);
    std::apply([&](const auto&... out) { run(out...); }, made);
    if constexpr (sizeof...(R) == 1) {
      return std::get<0>(made);
    } else {
      return made;
    }
  }
  /// The only output: as<T>().
  template <Number T>
  operator DeviceNDArray<T>() const {
    return as<T>();
  }

 private:
  /// All arguments; never evaluated.
  using Whole = expr::TextNode<bool, A...>;
  Whole all_trees() const {
    return std::apply(
        [](const A&... tree) {
          return Whole(expr::Constant<const kernels::source_text*>{nullptr}, tree...);
        },
        trees_);
  }

  template <class... T>
  void run(const DeviceNDArray<T>&... out) const {
    const DType types[] = {dtype_of<T>...};
    std::vector<const kernels::source_text*> functions;
    for (std::size_t k = 0; k < sizeof...(T); ++k) {
      functions.push_back(&text_->function(k, arguments_, types));
    }
    const DeviceNDArrayBase* const outs[] = {&out...};
    expr::require_gpu(*functions[0], *outs[0]);
    expr::require_raw_on(arguments_, *outs[0]);
    for (const expr::TextArgument& argument : arguments_) {
      if (argument.memory) argument.memory->used_on(detail::stream_for(*outs[0]));
    }
    const expr::Constant<std::int64_t> size{outs[0]->size()};
    if (text_->uses_position()) {
      run_nodes<T...>(outs, functions, size, expr::Position<std::int64_t>());
    } else {
      run_nodes<T...>(outs, functions, size);
    }
  }
  /// `more` are arguments behind the kernel's.
  template <class... T, class... More>
  void run_nodes(const DeviceNDArrayBase* const* outs,
                 const std::vector<const kernels::source_text*>& functions,
                 const More&... more) const {
    std::apply(
        [&](const A&... tree) {
          if constexpr (sizeof...(T) == 1) {
            (expr::evaluate_tree<T>(
                 *outs[0], expr::text_node<kernel_type_t<T>>(*functions[0], tree..., more...)),
             ...);
          } else {
            std::size_t k = 0;
            const auto next = [&]() -> const kernels::source_text& { return *functions[k++]; };
            const std::tuple nodes{expr::text_node<kernel_type_t<T>>(next(), tree..., more...)...};
            std::apply([&](const auto&... node) { run_together<T...>(outs, node...); }, nodes);
          }
        },
        trees_);
  }
  template <class... T, class... N>
  static void run_together(const DeviceNDArrayBase* const* outs, const N&... nodes) {
    using All = expr::Together<N...>;
    using L = expr::Lowered<All>;
    using Outs = kernels::several<kernel_type_t<T>...>;
    const expr::Arguments<All> arguments(All(nodes...));
    expr::evaluate_together(
        expr::MapProgram<typename L::type, Outs, L::next_scalar, typename L::arrays>::value(), outs,
        arguments.array, arguments.scalar, (expr::HasPosition<N>::value || ...));
  }

  std::shared_ptr<const expr::ElementwiseText> text_;
  std::vector<expr::TextArgument> arguments_;
  std::tuple<A...> trees_;
};

}  // namespace quarry
