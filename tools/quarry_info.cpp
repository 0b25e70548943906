// SPDX-License-Identifier: BSD-3-Clause
// quarry-info: what Quarry finds on this machine, and why a GPU cannot be used where none can.
#include <quarry/base/config.hpp>
#include <quarry/runtime/device.hpp>
#include <quarry/runtime/kernel_cache.hpp>

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "tools/command_line.hpp"
#include "tools/json.hpp"

namespace {

std::string version(std::pair<int, int> v) {
  return v.first == 0 ? "none" : fmt::format("{}.{}", v.first, v.second);
}

/// The default device, or why the environment's choice cannot be had.
std::string default_device() {
  try {
    return to_string(quarry::get_current_device());
  } catch (const quarry::Error& e) {
    return std::string("error: ") + e.what();
  }
}

Json json_of(const quarry::Device& device) {
  const auto [major, minor] = device.compute_capability();
  const auto memory = device.memory_info();
  return {{"device", to_string(device)},
          {"name", device.name()},
          {"uuid", device.uuid()},
          {"compute_capability", fmt::format("{}.{}", major, minor)},
          {"memory_free", memory.free},
          {"memory_total", memory.total},
          {"attributes", device.attributes()}};
}

void print_json() {
  const auto cache = quarry::kernel_cache_info();
  Json devices = Json::array({json_of(quarry::Device::cpu())});
  for (const quarry::Device gpu : quarry::gpus) devices.push_back(json_of(gpu));
  std::cout << json_text(
      {{"version", quarry::version},
       {"built_with_cuda", quarry::has_cuda},
       {"available", quarry::is_available()},
       {"why", quarry::why_unavailable()},
       {"cuda_error", quarry::cuda_error()},
       {"driver", version(quarry::driver_version())},
       {"nvrtc", version(quarry::nvrtc_version())},
       {"default_device", default_device()},
       {"cache", {{"path", cache.path}, {"bytes", cache.bytes}, {"entries", cache.entries}}},
       {"devices", devices}});
}

void print_text() {
  std::cout << fmt::format("Quarry {}, {}\n", quarry::version,
                           quarry::has_cuda ? "with the CUDA backend" : "for the CPU only");
  quarry::detect(std::cout);
  const auto cache = quarry::kernel_cache_info();
  const auto memory = quarry::Device::cpu().memory_info();
  std::cout << fmt::format("CUDA driver      {}\n", version(quarry::driver_version()))
            << fmt::format("NVRTC            {}\n", version(quarry::nvrtc_version()))
            << fmt::format("CPU              {}, {} threads, {:.1f} of {:.1f} GiB free\n",
                           quarry::Device::cpu().name(),
                           quarry::Device::cpu().attribute("MULTIPROCESSOR_COUNT"),
                           double(memory.free) / 0x1p30, double(memory.total) / 0x1p30)
            << fmt::format("default device   {}\n", default_device())
            << (cache.path.empty()
                    ? std::string("kernel cache     none on disk\n")
                    : fmt::format("kernel cache     {}, {} kernels, {:.1f} MiB\n", cache.path,
                                  cache.entries, double(cache.bytes) / 0x1p20));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Prints the devices that Quarry finds, the versions of the CUDA driver and of NVRTC,\n"
      "why a GPU cannot be used, and the size of the kernel cache.",
      "quarry-info");
  bool json = false;
  app.add_flag("--json", json, "the same for programs, with every attribute of the devices");
  if (const auto code = parse_command_line(app, argc, argv)) return *code;
  json ? print_json() : print_text();
  return 0;
}
