// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Parameters of kernels as text: "float32 x, raw T y" as in CuPy, "float *z, float a" as in
/// PyCUDA.
namespace quarry {

/// One of them.
struct KernelParameter {
  std::string type;  ///< without `raw`, `const` and `*`
  std::string name;  ///< in the operation
  ///@{
  /// What stands beside the type.
  bool is_raw = false, is_pointer = false, is_const = false;
  ///@}

  /// Whether the type is one of the caller's choice: a letter, as T in CuPy.
  bool is_generic() const;
};

/// Throws LogicError, with the list, for what is no parameter and for a name that comes twice.
std::vector<KernelParameter> kernel_parameters(std::string_view list);

/// The element type of this name: NumPy's ("float32", "int8", "complex64") or C's ("float",
/// "unsigned int", "long long"); none for others.
std::optional<DType> dtype_named(std::string_view name);

/// What CUDA C++ calls the type without headers: "float", "long long". Throws DTypeError for half
/// precision and complex numbers, which it does not have.
std::string_view c_type_name(DType type);

}  // namespace quarry
