// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/operations.hpp"

#include <algorithm>

namespace quarry::backend::cuda {

const OperationPtx* find_operation(std::string_view name) {
  const std::span<const OperationPtx> table = operation_table();
  const auto found = std::ranges::lower_bound(table, name, {}, &OperationPtx::name);
  return found != table.end() && found->name == name ? &*found : nullptr;
}

}  // namespace quarry::backend::cuda
