// SPDX-License-Identifier: BSD-3-Clause
// quarry-info: what Quarry finds on this machine, and why a GPU cannot be used where none can.
#include <quarry/base/config.hpp>
#include <quarry/runtime/compile.hpp>
#include <quarry/runtime/device.hpp>

#include <fmt/format.h>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

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

std::string json_of(const quarry::Device& device) {
  const auto [major, minor] = device.compute_capability();
  const auto memory = device.memory_info();
  std::string out = fmt::format(
      "{{\"device\": {}, \"name\": {}, \"uuid\": {}, \"compute_capability\": \"{}.{}\", "
      "\"memory_free\": {}, \"memory_total\": {}, \"attributes\": {{",
      quoted(to_string(device)), quoted(device.name()), quoted(device.uuid()), major, minor,
      memory.free, memory.total);
  const char* separator = "";
  for (const auto& [name, value] : device.attributes()) {
    out += fmt::format("{}{}: {}", separator, quoted(name), value);
    separator = ", ";
  }
  return out + "}}";
}

void print_json() {
  const auto cache = quarry::kernel_cache_info();
  std::vector<quarry::Device> devices{quarry::Device::cpu()};
  for (const quarry::Device gpu : quarry::gpus) devices.push_back(gpu);
  std::string list;
  for (const auto& device : devices) list += (list.empty() ? "" : ",\n    ") + json_of(device);
  std::cout << fmt::format(
      "{{\n  \"version\": {},\n  \"built_with_cuda\": {},\n  \"available\": {},\n  \"why\": {},\n"
      "  \"cuda_error\": {},\n  \"driver\": {},\n  \"nvrtc\": {},\n  \"default_device\": {},\n"
      "  \"cache\": {{\"path\": {}, \"bytes\": {}, \"entries\": {}}},\n  \"devices\": [\n    {}\n  "
      "]\n}}\n",
      quoted(quarry::version), quarry::has_cuda, quarry::is_available(),
      quoted(quarry::why_unavailable()), quoted(quarry::cuda_error()),
      quoted(version(quarry::driver_version())), quoted(version(quarry::nvrtc_version())),
      quoted(default_device()), quoted(cache.path), cache.bytes, cache.entries, list);
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
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    print_text();
  } else if (arguments.size() == 1 && arguments[0] == "--json") {
    print_json();
  } else {
    const bool help = arguments.size() == 1 && arguments[0] == "--help";
    (help ? std::cout : std::cerr)
        << "usage: quarry-info [--json]\n"
           "Prints the devices that Quarry finds, the versions of the CUDA "
           "driver and of NVRTC,\nwhy a GPU cannot be used, and the size of "
           "the kernel cache.\n";
    return help ? 0 : 2;
  }
  return 0;
}
