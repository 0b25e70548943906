// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/program.hpp>

namespace quarry::backend::cpu_backend {

/// Keeps the shared object of the program and its loops loaded until the process ends, also after
/// dlclose: queued work runs them later.
void keep_loaded(const kernels::program& program);

}  // namespace quarry::backend::cpu_backend
