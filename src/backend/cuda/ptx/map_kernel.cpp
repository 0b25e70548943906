// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/map_kernel.hpp"

#include <algorithm>

#include "backend/cuda/ptx/expression.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::TypeTree;

std::vector<TypeTree> listed(const TypeTree& tree) {
  return tree.name == "several" ? tree.arguments : std::vector{tree};
}

}  // namespace

std::optional<PtxMap> ptx_map_of(const TypeTree& program) {
  const auto& arguments = program.arguments;
  if (program.name != "map_of" || arguments.size() < 3) return std::nullopt;
  PtxMap map{listed(arguments[0]), {}, number_of(arguments[2]).value_or(-1)};
  std::vector<TypeTree> types = listed(arguments[1]);
  if (types.size() != map.outputs() || map.scalars < 0) return std::nullopt;
  types.insert(types.end(), arguments.begin() + 3, arguments.end());
  for (const TypeTree& type : types) {
    const std::optional<TypeId> id = kernels::element_type(type.text);
    if (!id || DType(*id).kind() == Kind::complex) return std::nullopt;
    map.operands.push_back(*id);
  }
  return map;
}

PtxKernel PtxMapKernel::finished(const PtxRequest& request) const {
  const std::string parameters =
      fmt::format(".param .align 8 .b8 block[{}], .param .u32 {}", 8 * places_.words(), more_);
  return {code_.module(request.is_for_hopper ? "sm_90" : "sm_80", request.name, request.entry,
                       parameters),
          std::string(request.entry)};
}

void PtxMapKernel::wait_for_stream(const PtxRequest& request) {
  if (!request.is_for_hopper) return;
  code_.add("griddepcontrol.launch_dependents");
  code_.add("griddepcontrol.wait");
}

std::string PtxMapKernel::special(const char* name) { return code_.word_of("mov.u32", name); }

std::string PtxMapKernel::more() {
  return code_.word_of("ld.param.u32", fmt::format("[{}]", more_));
}

PtxValue PtxMapKernel::scalar(std::size_t number, TypeId type) {
  const int at = 8 * (places_.scalars() + 2 * static_cast<int>(number));
  PtxValue value{type, code_.for_type(type)};
  code_.add("ld.param.u{} {}, [block+{}]", 8 * DType(type).itemsize(), value.in, at);
  return value;
}

/// So many elements at a time: enough for the hardware to go on, few enough for their registers.
bool PtxMapKernel::compute(int width, const std::string& position,
                           const std::vector<Loaded>& inputs,
                           std::vector<std::vector<std::string>>& outputs) {
  constexpr int at_once = 4;
  PtxContext context;
  context.input = [&](std::size_t k, int first, int count) {
    const Loaded& input = inputs.at(k);
    if (input.access.width() == 1) first = 0, count = 1;
    PtxLanes lanes;
    for (int i = 0; i < count; ++i) {
      lanes.push_back(input.access.element(code_, input.words, first + i));
    }
    return lanes;
  };
  context.scalar = [&](std::size_t k, TypeId type) { return scalar(k, type); };
  context.position = [&](int lane) {
    return PtxValue{TypeId::int64, code_.wide_of("add.s64", fmt::format("{}, {}", position, lane))};
  };
  PtxExpressions expressions(code_, context);
  outputs.assign(map_.outputs(), {});
  for (int first = 0; first < width; first += at_once) {
    const int count = std::min(at_once, width - first);
    expressions.go_to(first, count);
    for (std::size_t k = 0; k < map_.outputs(); ++k) {
      const PtxAccess access(map_.operands[k], width);
      const auto lanes = expressions.evaluate(map_.expressions[k], map_.operands[k]);
      if (!lanes) return false;
      for (int i = 0; i < count; i += access.elements_of_word()) {
        const bool is_one = lanes->size() == 1;
        const auto begin = lanes->begin() + (is_one ? 0 : i);
        outputs[k].push_back(access.word_of(
            code_, {begin, is_one ? lanes->end() : begin + access.elements_of_word()}));
      }
    }
  }
  return true;
}

}  // namespace quarry::backend::cuda
