// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "conformance/cases.hpp"

/// The plain numbers of make_scalar_cases.py, and the comparison with what NumPy makes of them.
namespace quarry::conformance {

/// An operation on an element of an array and a number. Throws as the library does.
using ComputeBesideNumber = void (*)(const void* element, const void* number, void* out);

/// Compares operation `name`, of an array of `array` and the numbers of `number`'s type, which are
/// on the left or on the right, with NumPy's. `compute` gives elements of `result`; there is none
/// if that is no_loop: the operation does not compile.
void check_numbers(const char* name, DType array, DType number, bool is_left, TypeId result,
                   ComputeBesideNumber compute);

}  // namespace quarry::conformance
