// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <quarry/kernels/program.hpp>
#include <quarry/kernels/source_text.hpp>

#include "backend/cuda/jit/variant.hpp"

namespace quarry::backend::cuda {

/// A header of Quarry and the name by which kernels include it: cmake/embed.cmake.
struct EmbeddedHeader {
  const char* name;
  const char* text;
};
extern const EmbeddedHeader embedded_headers[];
extern const int embedded_header_count;

/// The input of NVRTC for one kernel: a text that includes the embedded headers and defines the
/// user functions, and the name of the instantiation. Equal expressions have equal texts in every
/// process. The headers are compiled anew for every kernel, so a kernel without user functions gets
/// no more of them than its name asks for.
struct KernelSource {
  std::string text;
  std::string instantiation;
  std::string identifier = {};  ///< of the kernel: what profilers and debuggers show
  std::string operations = {};  ///< the text of quarry/kernels/ops.def
  bool has_user_functions = false;
  bool may_read_files = false;  ///< that the text does not tell: it is no key on disk
};
KernelSource kernel_source(const kernels::program& program, const Variant& variant);

/// The header with the table of operations, of which a source has its own text.
inline constexpr std::string_view operations_header = "quarry/kernels/ops.def";

/// The rows of the table (QUARRY_UNARY(sin, ...), ...) whose functor, sin_op, is among `functors`.
std::string rows_of(std::string_view table, const std::set<std::string, std::less<>>& functors);

/// The identifier under which a user function is compiled. It depends on the source alone, so that
/// functions of any scope (unnamed namespaces too) have one.
std::string user_identifier(std::string_view source);

/// The namespace in which a text is compiled.
std::string text_identifier(const kernels::source_text& text);

/// `name` with the type `from` replaced by `to`, except where `from` is a part of a longer
/// identifier, of a longer qualified name, or the name of a template.
std::string renamed(std::string name, std::string_view from, std::string_view to);

}  // namespace quarry::backend::cuda
