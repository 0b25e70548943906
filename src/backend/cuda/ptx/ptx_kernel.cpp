// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/ptx_kernel.hpp"

#include "backend/cuda/ptx/expression.hpp"
#include "backend/cuda/ptx/map_kernel.hpp"
#include "backend/cuda/ptx/operations.hpp"
#include "kernels/type_tree.hpp"

namespace quarry::backend::cuda {
namespace {

/// More bytes of parameters take a newer version of PTX, and so a newer driver.
bool fits(const PtxMap& map, int rank) {
  constexpr int most_bytes = 4096;
  const kernels::block_places places{static_cast<int>(map.operands.size()), map.scalars, rank};
  return 8 * places.words() + 4 <= most_bytes;
}

}  // namespace

std::optional<PtxKernel> ptx_kernel(std::string_view instantiation, std::string_view entry,
                                    std::pair<int, int> compute_capability) {
  if (compute_capability.first < 8 || operation_table().empty()) return std::nullopt;
  const std::optional<kernels::TypeTree> tree = kernels::parse_type(instantiation);
  const bool is_flat = tree && tree->name == "map_flat";
  if (!is_flat && !(tree && tree->name == "map_strided")) return std::nullopt;
  const std::optional<PtxMap> map = ptx_map_of(tree->arguments.at(0));
  if (!map) return std::nullopt;
  PtxRequest request{instantiation, entry, {}, compute_capability.first >= 9};
  for (std::size_t k = 1; k < tree->arguments.size(); ++k) {
    request.arguments.push_back(number_of(tree->arguments[k]).value_or(-1));
  }
  if (request.arguments.empty() || !fits(*map, is_flat ? 0 : request.arguments[0])) {
    return std::nullopt;
  }
  return is_flat ? flat_map(*map, request) : strided_map(*map, request);
}

}  // namespace quarry::backend::cuda
