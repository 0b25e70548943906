// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>

#include <quarry/kernels/program.hpp>

#include "backend/cuda/jit/variant.hpp"

namespace quarry::backend::cuda {

/// The input of NVRTC for one kernel: a text that includes the embedded headers and defines the
/// user functions, and the name of the instantiation. Equal expressions have equal texts in every
/// process.
struct KernelSource {
  std::string text;
  std::string instantiation;
  bool has_user_functions = false;
};
KernelSource kernel_source(const kernels::program& program, const Variant& variant);

/// The identifier under which a user function is compiled. It depends on the source alone, so that
/// functions of any scope (unnamed namespaces too) have one.
std::string user_identifier(std::string_view source);

/// `name` with the type `from` replaced by `to`, except where `from` is a part of a longer
/// identifier, of a longer qualified name, or the name of a template.
std::string renamed(std::string name, std::string_view from, std::string_view to);

}  // namespace quarry::backend::cuda
