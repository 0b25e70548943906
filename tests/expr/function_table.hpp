// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

/// A user function for every row of ops.def, which calls the row by its name.
namespace quarry::test::table {

#define QUARRY_UNARY(name, ...) QUARRY_FUNCTION(call_##name, (auto x), name(x));
#define QUARRY_BINARY(name, ...) QUARRY_FUNCTION(call_##name, (auto x, auto y), name(x, y));
#define QUARRY_TERNARY(name, ...) \
  QUARRY_FUNCTION(call_##name, (auto x, auto y, auto z), name(x, y, z));
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
QUARRY_FUNCTION(call_aliases, (auto x),
                arcsin(x) + arccos(x) + arctan(x) + arcsinh(x) + arccosh(x + 1) + arctanh(x) +
                    arctan2(x, x) + absolute(x));

/// The element type on which a row of this domain is tried.
template <class Domain>
inline constexpr bool is_of_integers =
    std::is_same_v<Domain, domains::integral> || std::is_same_v<Domain, domains::shift>;
template <class Operation>
using operand_of =
    std::conditional_t<is_of_integers<typename Operation::domain>, std::int64_t, double>;

}  // namespace quarry::test::table
