// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/host_kernel.hpp"

#include <algorithm>
#include <regex>

#include "fake_driver/memory/texture.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

struct HostKernels {
  std::mutex mutex;
  std::map<std::string, HostKernel> all;
};
HostKernels& host_kernels() {
  static auto& kernels = *new HostKernels;
  return kernels;
}

struct Unreachable {};

std::size_t size_of(const std::string& type) {
  if (type == "double" || type == "long long") return 8;
  if (type == "char" || type == "bool") return 1;
  return 4;
}

auto matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  return std::vector<std::smatch>(std::sregex_iterator(text.begin(), text.end(), regex),
                                  std::sregex_iterator());
}

}  // namespace

std::byte* HostLaunch::find(CUdeviceptr address, std::size_t bytes) const {
  std::byte* const memory = state().memory.find(address, bytes, device);
  if (memory || bytes == 0) return memory;
  add_fault(kernel + ": an address outside of the device's memory");
  throw Unreachable();
}

std::byte* HostLaunch::find_texel(CUtexObject object, const std::array<std::size_t, 3>& at,
                                  std::size_t bytes) const {
  const auto texels = find_texels(object, device);
  if (!texels) throw Unreachable();
  if (texels->element_bytes != bytes) {
    add_fault(kernel + ": reads elements of another size than the texture's");
    throw Unreachable();
  }
  const auto x = std::min(at[0], texels->width - 1), y = std::min(at[1], texels->rows - 1);
  return find(texels->address(x, y, std::min(at[2], texels->planes - 1)), bytes);
}

void set_host_kernel(const std::string& name, HostKernel kernel) {
  const std::lock_guard lock(host_kernels().mutex);
  host_kernels().all.insert_or_assign(name, std::move(kernel));
}

std::optional<HostKernel> find_host_kernel(const std::string& name) {
  const std::lock_guard lock(host_kernels().mutex);
  const auto found = host_kernels().all.find(name);
  return found == host_kernels().all.end() ? std::nullopt : std::optional(found->second);
}

CUresult run_host_kernel(const HostKernel& kernel, const HostLaunch& launch) {
  try {
    kernel.run(launch);
    return CUDA_SUCCESS;
  } catch (const Unreachable&) {
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
}

bool is_source_of_program(const std::string& source) {
  const auto has = [&](const char* text) { return source.find(text) != source.npos; };
  return has("__global__") || (has("__device__") && !has("#include \"kernels/"));
}

std::vector<std::string> kernels_in(const std::string& source) {
  std::vector<std::string> names;
  for (const auto& match : matches(source, R"(__global__\s+void\s+(\w+)\s*\()")) {
    names.push_back(match[1]);
  }
  return names;
}

std::map<std::string, std::size_t> variables_in(const std::string& source) {
  std::map<std::string, std::size_t> variables;
  constexpr auto pattern = R"((__constant__|__device__)\s+([\w ]+?)\s+(\w+)(\[(\d+)\])?\s*;)";
  for (const auto& match : matches(source, pattern)) {
    const std::size_t count = match[5].matched ? std::stoul(match[5]) : 1;
    variables[match[3]] = count * size_of(match[2]);
  }
  return variables;
}

}  // namespace quarry::fake
