// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/jit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <quarry/base/config.hpp>
#include <quarry/base/error.hpp>

#include "backend/cuda/jit/digest.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/cuda/jit/nvrtc_program.hpp"

namespace quarry::backend::cuda {
namespace {

/// Contraction to fused multiply-adds is off: a GPU computes the bits that the CPU computes.
constexpr const char* fused_multiply_add = "-fmad=false";

std::vector<std::string> options_for(const KernelSource& source, const Architecture& architecture) {
  std::vector<std::string> options{"-std=c++20", "--gpu-architecture=" + architecture.name,
                                   fused_multiply_add, "--no-source-include"};
  if (nvrtc_version().first >= 13) options.push_back("--minimal");  // a tenth faster
  // For generic lambdas. It puts every constant that a header has into the machine code, so that
  // kernels are larger, and slower to compile and to load.
  if (source.has_user_functions) options.push_back("--device-as-default-execution-space");
  return options;
}

/// The embedded headers, with the source's own table of operations.
std::vector<EmbeddedHeader> headers_of(const KernelSource& source) {
  std::vector<EmbeddedHeader> headers(embedded_headers, embedded_headers + embedded_header_count);
  for (EmbeddedHeader& header : headers) {
    if (header.name == operations_header) header.text = source.operations.c_str();
  }
  return headers;
}

std::string headers_digest() {
  Digest digest;
  std::size_t bytes = 0;
  for (int i = 0; i < embedded_header_count; ++i) {
    for (const std::string_view part : {embedded_headers[i].name, embedded_headers[i].text}) {
      digest.add_field(part);
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
    const NvrtcUse nvrtc;
    int count = 0;
    nvrtc->GetNumSupportedArchs(&count);
    std::vector<int> found(static_cast<std::size_t>(std::max(count, 0)));
    nvrtc->GetSupportedArchs(found.data());
    std::ranges::sort(found);
    return found;
  }());
  return supported;
}

Binary compile_kernel(const KernelSource& source, const Architecture& architecture) {
  NvrtcProgram program(source.text, "quarry_kernel.cu", options_for(source, architecture),
                       headers_of(source));
  program.compile({source.instantiation}, "the kernel " + source.instantiation);
  return {program.code(architecture.is_ptx ? CodeKind::ptx : CodeKind::cubin),
          program.lowered(source.instantiation)};
}

std::string kernel_key(const KernelSource& source, const Architecture& architecture) {
  static const std::string& headers = *new const std::string(headers_digest());
  const auto [major, minor] = nvrtc_version();
  return fmt::format("library {}\nheaders {}\nnvrtc {}.{}\noptions {}\n{}\n{}", quarry::version,
                     headers, major, minor, fmt::join(options_for(source, architecture), " "),
                     source.instantiation, source.text);
}

}  // namespace quarry::backend::cuda
