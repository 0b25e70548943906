// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace quarry {

struct PrintOptions;

/// The text of each of the elements that lie one after another in `bytes`, padded so that they
/// stand in a column: NumPy's BoolFormat, IntegerFormat, FloatingFormat, ComplexFloatingFormat
/// and StructuredVoidFormat.
std::vector<std::string> format_elements(DType type, std::span<const std::byte> bytes,
                                         const PrintOptions& options);

/// str() of a NumPy scalar; the options are those of the arrays in a record.
std::string format_scalar(DType type, const std::byte* element, const PrintOptions& options);

}  // namespace quarry
