// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/kernel_call.hpp"

/// Which inputs and scalars of a program are one and the same: `x * x` has two inputs, and a part
/// of an expression that is used twice has its inputs and scalars twice. A kernel that knows reads
/// each of them once, and computes once what is equal.
namespace quarry::backend::cuda {

/// The number of the first input (scalar) that is the same as number k, for every k. Sharings live
/// until the process ends: equal addresses mean equal sharings.
struct Sharing {
  std::vector<std::size_t> input, scalar;
};

/// What is the same in all calls of the program so far, this one included; nullptr if nothing is.
/// The first call decides, and later ones can only take something away, so that a program is
/// compiled anew at most once for every input and scalar. Scalars may be equal by chance: they
/// count only where inputs are the same too.
const Sharing* sharing_of(const KernelCall& call);

/// The name of a program in which an input or scalar has the number of the first one that is the
/// same and has the same type.
std::string with_sharing(std::string name, const Sharing& sharing);

}  // namespace quarry::backend::cuda
