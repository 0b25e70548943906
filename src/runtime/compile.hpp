// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/compile.hpp>

#include <string>
#include <string_view>

#include "backend/source_kernel.hpp"

namespace quarry::runtime {

inline constexpr std::string_view machine = "sm_", virtual_machine = "compute_";

struct Compiled {
  backend::CompiledCode code;
  std::string kept;  ///< the folder that has it, or empty
};

/// For the options' device or architecture: machine code unless that says PTX.
Compiled compile(const std::string& source, const CompileOptions& options);
/// The source again, and what is in the cache is replaced: for code that a driver refuses.
Compiled compile_anew(const std::string& source, const CompileOptions& options);
/// For a linker.
backend::CompiledCode compile_relocatable(const std::string& source, const CompileOptions& options);
backend::CompiledCode compile_ltoir(const std::string& source, const CompileOptions& options);

/// The architecture of the options' device, for code of one kind.
std::string architecture(const std::optional<Device>& device, std::string_view kind);

}  // namespace quarry::runtime
