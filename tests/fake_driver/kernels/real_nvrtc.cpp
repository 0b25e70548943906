// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/real_nvrtc.hpp"

#include <cstdlib>
#include <string_view>

#include "backend/cuda/jit/nvjitlink.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/link.hpp"

namespace quarry::fake {
namespace {

using backend::cuda::NvrtcTable;

bool is_wanted() {
  static const bool wanted = [] {
    const char* const value = std::getenv("QUARRY_FAKE_NVRTC");
    return value && std::string_view(value) == "real";
  }();
  return wanted;
}

/// The same options, for PTX: the complaints come from the front end.
std::vector<std::string> for_ptx(const NvrtcTable& nvrtc, std::span<const char* const> options) {
  int major = 0, minor = 0;
  nvrtc.Version(&major, &minor);
  std::vector<std::string> result;
  for (const std::string_view option : options) {
    constexpr std::string_view machine = "--gpu-architecture=sm_";
    if (option.starts_with(machine)) {
      result.push_back("--gpu-architecture=compute_" + std::string(option.substr(machine.size())));
    } else if (option != "--minimal" || major >= 13) {
      result.emplace_back(option);
    }
  }
  return result;
}

std::string log_of(const NvrtcTable& nvrtc, nvrtcProgram program) {
  std::size_t size = 0;
  nvrtc.GetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtc.GetProgramLog(program, log.data());
  return log;
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> result;
  for (const std::string& string : strings) result.push_back(string.c_str());
  return result;
}

}  // namespace

std::string complaint_of_nvrtc(const std::string& source,
                               const std::map<std::string, std::string>& headers,
                               const std::vector<std::string>& expressions,
                               std::span<const char* const> options) {
  if (!is_wanted()) return {};
  static const auto& loaded = *new backend::cuda::LoadedNvrtc(backend::cuda::load_nvrtc());
  if (!loaded.table) return loaded.why;
  const NvrtcTable& nvrtc = *loaded.table;
  std::vector<const char*> names, texts;
  for (const auto& [name, text] : headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program = nullptr;
  nvrtc.CreateProgram(&program, source.c_str(), "quarry_kernel.cu", static_cast<int>(names.size()),
                      texts.data(), names.data());
  for (const std::string& expression : expressions) {
    nvrtc.AddNameExpression(program, expression.c_str());
  }
  const std::vector<std::string> wanted = for_ptx(nvrtc, options);
  const auto given = pointers(wanted);
  const nvrtcResult result =
      nvrtc.CompileProgram(program, static_cast<int>(given.size()), given.data());
  const std::string log = result == NVRTC_SUCCESS ? std::string() : log_of(nvrtc, program);
  nvrtc.DestroyProgram(&program);
  return result == NVRTC_SUCCESS || !log.empty() ? log : nvrtc.GetErrorString(result);
}

std::string complaint_of_nvjitlink(const std::string& ptx) {
  if (!is_wanted()) return {};
  static const auto& loaded = *new backend::cuda::LoadedNvJitLink(backend::cuda::load_nvjitlink());
  if (!loaded.table) return loaded.why;
  const backend::cuda::NvJitLinkTable& linker = *loaded.table;
  backend::cuda::LinkHandle link = nullptr;
  const char* const options[] = {"-arch=sm_90"};
  int result = linker.Create(&link, 1, options);
  const auto kind = static_cast<int>(backend::LinkInputKind::ptx);
  if (result == 0) result = linker.AddData(link, kind, ptx.data(), ptx.size() + 1, "kernel.ptx");
  if (result == 0) result = linker.Complete(link);
  std::size_t size = 0;
  if (result != 0) linker.GetErrorLogSize(link, &size);
  std::string log(size, '\0');
  if (size > 0) linker.GetErrorLog(link, log.data());
  linker.Destroy(&link);
  return result == 0 ? "" : "nvJitLink: " + log;
}

}  // namespace quarry::fake
