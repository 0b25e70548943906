// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/reduction_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace quarry::expr {
namespace {

std::string preamble_of(const ReductionText& text) {
  return kernels::with_lines("the preamble of ", text.name, text.preamble);
}

/// "convert<T>( EXPRESSION )" whose lines are those of `what` of the kernel.
std::string converted(std::string_view type, const char* what, std::string_view expression,
                      const ReductionText& text) {
  require<LogicError>(!expression.empty(), [&] {
    return fmt::format("the reduction {} has no {}", text.name, std::string_view(what));
  });
  return fmt::format("convert<{}>({})", type,
                     kernels::with_lines(fmt::format("{} of ", what), text.name, expression));
}

}  // namespace

const source_text& map_text(DType accumulator, std::span<const DType> types,
                            const ReductionText& text) {
  require<LogicError>(!text.map_expr.empty(),
                      [&] { return fmt::format("the reduction {} has no map_expr", text.name); });
  const std::string label = fmt::format("map_expr of {}", text.name);
  return kernels::text_of(
      text.name, preamble_of(text),
      function_members(accumulator, types, text.parameters, {label, text.map_expr}));
}

const source_text& reducer_text(DType accumulator, const ReductionText& text) {
  // a class of such a name has no member of it
  static constexpr std::string_view members_of_reducers[] = {"takes_batches", "identity", "combine",
                                                             "take", "finish"};
  require<LogicError>(
      std::ranges::find(members_of_reducers, text.name) == std::end(members_of_reducers),
      [&] { return fmt::format("no reduction can have the name {}", text.name); });
  const std::string_view type = kernel_type_name(accumulator);
  const std::string members = fmt::format(
      R"(static constexpr bool takes_batches = false;
template <class Acc>
static __device__ Acc identity() {{ return {}; }}
template <class Acc>
static __device__ Acc combine(Acc a, Acc b) {{ return {}; }}
template <class Acc, class V>
static __device__ void take(Acc& a, V v, i64) {{ a = combine<Acc>(a, convert<Acc>(v)); }}
template <class Out, class Acc, class C>
static __device__ Out finish(Acc a, const C& c) {{
  [[maybe_unused]] const i64 n = c.count();
  return {};
}})",
      converted(type, "identity", text.identity, text),
      converted(type, "reduce_expr", text.reduce_expr, text),
      converted("Out", "post_map_expr", text.post_map_expr, text));
  return kernels::text_of(text.name, preamble_of(text), members);
}

const source_text& empty_text(DType accumulator, DType result, const ReductionText& text) {
  const std::string_view type = kernel_type_name(accumulator), out = kernel_type_name(result);
  const std::string members = fmt::format(
      "__device__ {} operator()() const {{ [[maybe_unused]] const {} a = {}; [[maybe_unused]] "
      "const i64 n = 0; return {}; }}",
      out, type, converted(type, "identity", text.identity, text),
      converted(out, "post_map_expr", text.post_map_expr, text));
  return kernels::text_of(text.name, preamble_of(text), members);
}

}  // namespace quarry::expr
