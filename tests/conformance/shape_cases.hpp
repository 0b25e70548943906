// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "conformance/cases.hpp"

/// The calls that make_shape_cases.py drew, replayed.
namespace quarry::conformance {

/// The inputs and arguments of a call.
struct ShapeCall {
  std::vector<DeviceNDArray<std::int32_t>> inputs;
  std::vector<test::Ints> arguments;

  const DeviceNDArray<std::int32_t>& a() const { return inputs[0]; }
  /// The first integer of argument `i`.
  std::int64_t number(std::size_t i) const { return arguments[i].at(0); }
  Axes axes(std::size_t i) const { return test::as_shape(arguments[i]); }
};

/// What a call gives: its elements, and whether it shares the memory of the first input.
struct ShapeResult {
  ShapeResult(const DeviceNDArray<std::int32_t>& r) : ShapeResult(DeviceNDArray<const int>(r)) {}
  ShapeResult(const DeviceNDArray<const std::int32_t>& r) : array(r) {}
  /// Of an expression, or of elements of another type.
  template <expr::Operand X>
  ShapeResult(const X& x) : array(quarry::array(x.template astype<std::int32_t>())) {}

  DeviceNDArray<const std::int32_t> array;
};
using ShapeResults = std::vector<ShapeResult>;

/// A function of the tests, and the same of an expression with the same elements, where that is
/// another path.
struct ShapeFunction {
  const char* name;
  ShapeResults (*call)(const ShapeCall&);
  ShapeResults (*lazy)(const ShapeCall&) = nullptr;
};
/// By its name. Throws if there is none.
const ShapeFunction& shape_function(const std::string& name);
///@{
/// The tables.
std::span<const ShapeFunction> shape_functions();
std::span<const ShapeFunction> join_functions();
///@}

/// Whether results are views where NumPy's are.
enum class Views { numpys, any };
/// Replays the calls of a function. Whatever NumPy refuses throws a LogicError.
void replay_shapes(const std::string& name, ShapeResults (*function)(const ShapeCall&),
                   Views views = Views::numpys);

}  // namespace quarry::conformance
