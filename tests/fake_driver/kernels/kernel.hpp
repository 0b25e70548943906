// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/kernels/params.hpp>
#include <quarry/kernels/program.hpp>

#include "fake_driver/kernels/operands.hpp"

/// Quarry's kernels without a GPU: the launch is checked as the hardware would punish it, then the
/// program's CPU loops compute, row by row, at the addresses and with the index width of the
/// kernel.
namespace quarry::fake {

struct Launch;

/// A kernel as the fake driver runs it; every family has a list of its own.
struct Kernel {
  std::string_view family, name;
  std::size_t arguments;                           ///< of the template, behind the program
  int most_threads;                                ///< of a block
  int (*rank)(const std::vector<int>& arguments);  ///< how many axes the parameter block has
  std::array<std::size_t, 4> more;                 ///< sizes of the parameters behind the block
  CUresult (*run)(const Launch& launch);
};

/// "quarry::kernels::map_flat<PROGRAM, 4>" taken apart.
struct KernelName {
  const Kernel* kernel;
  std::string program;
  std::vector<int> arguments;
};
std::optional<KernelName> parse_kernel(std::string_view expression);

/// A launch with its parameters as they were at the call.
struct Launch {
  std::string expression;
  KernelName name;
  const kernels::program* program;
  int device;
  std::int64_t grid_x, grid_y, block_x, block_y;
  std::vector<std::uint64_t> words;  ///< the parameter block
  std::vector<std::uint64_t> more;   ///< the other parameters, each of whole words
  std::uint64_t seed = 0;            ///< in which order rows are computed

  int argument(std::size_t k) const { return name.arguments[k]; }
  int rank() const { return name.kernel->rank(name.arguments); }
  kernels::block_places places() const { return {program->operands(), program->scalars, rank()}; }
  std::int64_t word(int k) const { return static_cast<std::int64_t>(words[std::size_t(k)]); }
  std::uint64_t pointer(int operand) const {
    return words[std::size_t(kernels::block_places::pointers + operand)];
  }
  const std::uint64_t* scalars() const { return words.data() + places().scalars(); }
  Operands operands(bool has_wide_index, bool has_output = true, int output_rank = -1) const;
};

CUresult run_launch(const Launch& launch);

/// Whether inputs and scalars that the kernel's name has under one number, and the program's under
/// several, are the same in this launch: the CPU's loops read each of its own.
bool shares_what_is_the_same(const Launch& launch);

// What the families' kernels have in common.

CUresult illegal(const Launch& launch, const std::string& what);
CUresult misaligned(const Launch& launch);

/// Whether every element of operand k lies where the hardware can access it.
bool is_natural(const Launch& launch, const Operands& operands, int k);
/// Whether the operands from `first` on may be accessed by vectors along the axis: those with their
/// bit in `wide`, and all outputs, are dense along it, the others do not move.
bool has_legal_vectors(const Launch& launch, const Operands& operands, int first, int width,
                       int wide, int axis);

#define QUARRY_FAMILY(name) std::span<const Kernel> name##_kernels();
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY

}  // namespace quarry::fake
