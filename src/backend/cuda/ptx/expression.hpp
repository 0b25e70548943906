// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/cuda/ptx/code.hpp"
#include "kernels/type_tree.hpp"

namespace quarry::backend::cuda {

/// The values of an expression at consecutive elements, or one that all of them have.
using PtxLanes = std::vector<PtxValue>;

/// What the expressions of a kernel (quarry/kernels/node.hpp) read. `first` is the number of the
/// first element among those of the thread.
struct PtxContext {
  std::function<PtxLanes(std::size_t number, int first, int count)> input;
  std::function<PtxValue(std::size_t number, TypeId type)> scalar;
  std::function<PtxValue(int number)> position;  ///< in C order, an int64
};

/// Expressions at some elements at a time. Of these an operation is computed for all before the
/// next one, so that the hardware has something to do in each; equal parts are computed once.
class PtxExpressions {
 public:
  PtxExpressions(PtxCode& code, const PtxContext& context) : code_(code), context_(context) {}

  /// Goes on with `count` elements from number `first` on.
  void go_to(int first, int count);
  /// The expression converted to the type. Nothing where it has parts of which there is no PTX:
  /// user functions, complex numbers, elements at computed places.
  std::optional<PtxLanes> evaluate(const kernels::TypeTree& expression, TypeId type);

 private:
  std::optional<PtxLanes> value_of(const kernels::TypeTree& expression);
  std::optional<PtxLanes> compute(const kernels::TypeTree& expression);
  std::optional<PtxLanes> operation(const kernels::TypeTree& expression);
  PtxLanes positions();
  std::optional<PtxLanes> converted(const PtxLanes& values, TypeId type);

  PtxCode& code_;
  const PtxContext& context_;
  std::map<std::string_view, PtxLanes> known_;  ///< by the text of the expression
  int first_ = 0, count_ = 0;
};

/// A template argument that is a number.
std::optional<int> number_of(const kernels::TypeTree& argument);

}  // namespace quarry::backend::cuda
