// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/program.hpp>

#include <string>
#include <string_view>

namespace quarry::kernels {

/// What a program does, for people: its family, its operations in the order of its type's name, and
/// the type of its results: "map add multiply float32", "reduce sum int64".
std::string operation_name(const program& program);
/// The same for the name of a program's type, behind `kernel` in place of the family, as an
/// identifier: "map_flat_add_multiply_float32".
std::string kernel_identifier(std::string_view kernel, std::string_view program_name);

}  // namespace quarry::kernels
