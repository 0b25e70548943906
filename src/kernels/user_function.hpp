// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include <quarry/kernels/user_function.hpp>

namespace quarry::kernels {

/// A name in the body of a user function, and the function that it refers to.
struct user_call {
  std::string name;
  user_function function;
};
/// What `function` calls, each once; throws as require_known_calls does. Empty for a function not
/// made by QUARRY_FUNCTION.
std::vector<user_call> calls_of(const user_function& function);

}  // namespace quarry::kernels
