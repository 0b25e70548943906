// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace quarry::kernels {

/// The name of a type taken apart: op<add_op, float> is "op" with the arguments "add_op" and
/// "float". It refers to the text that was parsed.
struct TypeTree {
  std::string_view text;  ///< all of it
  std::string_view name;  ///< without namespaces and arguments
  std::vector<TypeTree> arguments;
};

/// Nothing for a text whose brackets do not match, or with a type that is no plain name (of a
/// lambda, a pointer, a function).
std::optional<TypeTree> parse_type(std::string_view text);

/// The element type that a compiler spells so, whichever it is; a namespace before it is left out.
std::optional<TypeId> element_type(std::string_view name);

}  // namespace quarry::kernels
