// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/jit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <quarry/base/config.hpp>
#include <quarry/base/error.hpp>

#include "backend/cuda/jit/digest.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

/// Contraction to fused multiply-adds is off: a GPU computes the bits that the CPU computes.
constexpr const char* fused_multiply_add = "-fmad=false";

std::pair<int, int> nvrtc_version() {
  std::pair<int, int> version;
  nvrtc().Version(&version.first, &version.second);
  return version;
}

std::vector<std::string> options_for(const KernelSource& source, const Architecture& architecture) {
  std::vector<std::string> options{"-std=c++20", "--gpu-architecture=" + architecture.name,
                                   fused_multiply_add, "--no-source-include"};
  if (nvrtc_version().first >= 13) options.push_back("--minimal");  // a tenth faster
  // For generic lambdas. It puts every constant that a header has into the machine code, so that
  // kernels are larger, and slower to compile and to load.
  if (source.has_user_functions) options.push_back("--device-as-default-execution-space");
  return options;
}

class Program {
 public:
  explicit Program(const KernelSource& source) {
    std::vector<const char*> names, texts;
    for (int i = 0; i < embedded_header_count; ++i) {
      const auto [name, text] = embedded_headers[i];
      names.push_back(name);
      texts.push_back(name == operations_header ? source.operations.c_str() : text);
    }
    require(nvrtc().CreateProgram(&program_, source.text.c_str(), "quarry_kernel.cu",
                                  embedded_header_count, texts.data(), names.data()));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtc().DestroyProgram(&program_); }

  nvrtcResult compile(const std::string& instantiation, const std::vector<std::string>& options) {
    require(nvrtc().AddNameExpression(program_, instantiation.c_str()));
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc().CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const { return text(nvrtc().GetProgramLogSize, nvrtc().GetProgramLog); }
  std::string code(bool is_ptx) const {
    return is_ptx ? text(nvrtc().GetPTXSize, nvrtc().GetPTX)
                  : text(nvrtc().GetCUBINSize, nvrtc().GetCUBIN);
  }
  std::string lowered(const std::string& instantiation) const {
    const char* name = nullptr;
    require(nvrtc().GetLoweredName(program_, instantiation.c_str(), &name));
    return name;
  }

 private:
  static void require(nvrtcResult result) {
    if (result != NVRTC_SUCCESS) {
      throw RuntimeError(fmt::format("NVRTC failed: {}", nvrtc().GetErrorString(result)));
    }
  }
  std::string text(nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                   nvrtcResult (*get)(nvrtcProgram, char*)) const {
    std::size_t size = 0;
    require(size_of(program_, &size));
    std::string result(size, '\0');
    require(get(program_, result.data()));
    return result;
  }

  nvrtcProgram program_ = nullptr;
};

[[noreturn]] void raise(nvrtcResult result, std::string log, const KernelSource& source,
                        const std::vector<std::string>& options) {
  const std::string reason = nvrtc().GetErrorString(result);
  const auto end = log.find_last_not_of(std::string("\0\n", 2));
  log.resize(end == log.npos ? 0 : end + 1);
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    throw BackendUnavailable(
        fmt::format("NVRTC cannot use its built-ins library: {}: {}", reason, log));
  }
  throw CompileError(fmt::format("the kernel {} did not compile: {}", source.instantiation, reason),
                     source.text, std::move(log), fmt::format("{}", fmt::join(options, " ")));
}

std::string headers_digest() {
  Digest digest;
  std::size_t bytes = 0;
  for (int i = 0; i < embedded_header_count; ++i) {
    for (const std::string_view part : {embedded_headers[i].name, embedded_headers[i].text}) {
      digest.add(part).add(std::string_view("\0", 1));
      bytes += part.size();
    }
  }
  return fmt::format("{} {}", digest.hex(), bytes);
}

}  // namespace

Architecture architecture_for(std::pair<int, int> compute_capability,
                              std::span<const int> supported) {
  const auto [major, minor] = compute_capability;
  const int wanted = 10 * major + minor;
  const auto above = std::ranges::upper_bound(supported, wanted);
  require<BackendUnavailable>(above != supported.begin(), [&] {
    return fmt::format("NVRTC compiles for no GPU of compute capability {}.{}",
                       compute_capability.first, compute_capability.second);
  });
  const int best = *(above - 1);
  const bool is_ptx = best / 10 != major;  // machine code runs on later minors only
  return {fmt::format("{}_{}", is_ptx ? "compute" : "sm", best), is_ptx};
}

const std::vector<int>& supported_architectures() {
  static const auto& supported = *new const std::vector<int>([] {
    int count = 0;
    nvrtc().GetNumSupportedArchs(&count);
    std::vector<int> found(static_cast<std::size_t>(std::max(count, 0)));
    nvrtc().GetSupportedArchs(found.data());
    std::ranges::sort(found);
    return found;
  }());
  return supported;
}

Binary compile_kernel(const KernelSource& source, const Architecture& architecture) {
  const NoForks no_forks;  // NVRTC's exit handlers take locks that compiling holds
  const std::vector<std::string> options = options_for(source, architecture);
  Program program(source);
  const nvrtcResult result = program.compile(source.instantiation, options);
  if (result != NVRTC_SUCCESS) raise(result, program.log(), source, options);
  return {program.code(architecture.is_ptx), program.lowered(source.instantiation)};
}

std::string kernel_key(const KernelSource& source, const Architecture& architecture) {
  static const std::string& headers = *new const std::string(headers_digest());
  const auto [major, minor] = nvrtc_version();
  return fmt::format("library {}\nheaders {}\nnvrtc {}.{}\noptions {}\n{}\n{}", quarry::version,
                     headers, major, minor, fmt::join(options_for(source, architecture), " "),
                     source.instantiation, source.text);
}

}  // namespace quarry::backend::cuda
