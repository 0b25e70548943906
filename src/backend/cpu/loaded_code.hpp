// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/program.hpp>

namespace quarry::backend::cpu_backend {

/// The shared object that the program and its loops are in stays loaded to the end of the process,
/// also when it is closed: work that is queued runs them later.
void keep_loaded(const kernels::program& program);

}  // namespace quarry::backend::cpu_backend
