// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <utility>
#include <vector>

#include <quarry/kernels/source_text.hpp>

#include "backend/kernel_call.hpp"

namespace quarry::backend::cuda {

/// The functions and reducers of a call whose source is a text (kernels/text_function.hpp), by the
/// numbers of their scalars. They live until the process ends: equal addresses mean equal texts.
struct Texts {
  std::vector<std::pair<int, const kernels::source_text*>> all;

  /// That of scalar `number`, which has one.
  const kernels::source_text& of(int number) const;
  friend bool operator<(const Texts& a, const Texts& b) { return a.all < b.all; }
};

/// Those of the call; nullptr if it has none.
const Texts* texts_of(const KernelCall& call);

}  // namespace quarry::backend::cuda
