// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/program.hpp>

#include <string>

namespace quarry::runtime {

/// What a program does, for people: its family, its operations in the order of its type's name, and
/// the type of its results: "map add multiply float32", "reduce sum int64".
std::string operation_name(const kernels::program& program);

}  // namespace quarry::runtime
