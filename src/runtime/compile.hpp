// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/compile.hpp>

#include "backend/source_kernel.hpp"

namespace quarry::runtime {

/// Machine code for the options' device, or for their architecture.
backend::CompiledCode compile(const std::string& source, const CompileOptions& options);

}  // namespace quarry::runtime
