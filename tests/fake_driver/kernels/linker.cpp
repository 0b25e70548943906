// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "fake_driver/entry.hpp"
#include "fake_driver/kernels/compiler.hpp"
#include "fake_driver/kernels/image.hpp"
#include "fake_driver/kernels/real_nvrtc.hpp"
#include "fake_driver/state.hpp"

/// The driver's linker, which translates the kernels that the library has written as PTX.
namespace quarry::fake {
namespace {

struct Link {
  Image image;
  std::string code;
};

constexpr int most_parameter_bytes = 4096;

Link& link_of(CUlinkState handle) { return *reinterpret_cast<Link*>(handle); }

/// What stands between two texts; empty if one is missing.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
  const auto begin = text.find(before);
  if (begin == text.npos) return {};
  const auto end = text.find(after, begin + before.size());
  return end == text.npos ? "" : text.substr(begin + before.size(), end - begin - before.size());
}

bool refuses() {
  const Guard lock(state().mutex);
  if (compiler().refuses_ptx) return true;
  ++state().statistics.compilations;
  return compiler().fails;
}

}  // namespace

namespace entry {

CUresult link_create(unsigned, CUjit_option*, void**, CUlinkState* out) {
  if (const CUresult result = enter_unsafe()) return result;
  const int device = current_device();
  const Guard lock(state().mutex);
  const auto [major, minor] =
      state().machine.devices[static_cast<std::size_t>(device)].compute_capability;
  auto link = std::make_unique<Link>();
  link->image.architecture = 10 * major + minor;
  *out = reinterpret_cast<CUlinkState>(link.release());
  return CUDA_SUCCESS;
}

/// The name of the kernel in kernels/ is in the first line.
CUresult link_add_data(CUlinkState handle, CUjitInputType type, void* data, std::size_t bytes,
                       const char*, unsigned, CUjit_option*, void**) {
  Link& link = link_of(handle);
  if (type != CU_JIT_INPUT_PTX || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string text(static_cast<const char*>(data), bytes - 1);
  compiler().while_compiling();
  if (refuses()) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  const std::string expression = between(text, "// ", "\n"), name = between(text, ".entry ", "("),
                    target = between(text, ".target sm_", "\n");
  if (expression.empty() || name.empty()) return CUDA_ERROR_INVALID_PTX;
  if (std::atoi(target.c_str()) > link.image.architecture) return CUDA_ERROR_INVALID_PTX;
  if (std::atoi(between(text, ".b8 block[", "]").c_str()) + 4 > most_parameter_bytes) {
    add_fault(expression + ": more bytes of parameters than the version of PTX has");
    return CUDA_ERROR_INVALID_PTX;
  }
  if (const std::string complaint = complaint_of_nvjitlink(text); !complaint.empty()) {
    add_fault(expression + ": " + complaint);
    return CUDA_ERROR_INVALID_PTX;
  }
  link.image.functions[name] = expression;
  return CUDA_SUCCESS;
}

CUresult link_complete(CUlinkState handle, void** code, std::size_t* bytes) {
  Link& link = link_of(handle);
  link.code = write_image(link.image);
  *code = link.code.data();
  *bytes = link.code.size();
  return CUDA_SUCCESS;
}

CUresult link_destroy(CUlinkState handle) {
  const std::unique_ptr<Link> ended(&link_of(handle));
  return CUDA_SUCCESS;
}

}  // namespace entry

}  // namespace quarry::fake
