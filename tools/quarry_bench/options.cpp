// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/options.hpp"

#include <cstdint>

#include "tools/command_line.hpp"

namespace bench {

namespace {

/// Makes a number of bytes of "64KiB", "64M", "4096". What it returns is why it cannot.
std::string read_size(std::string& text) {
  constexpr std::uint64_t least = std::uint64_t{64} << 10, most = std::uint64_t{4} << 30;
  std::string bytes = text;
  try {
    if (CLI::AsSizeValue(false)(bytes).empty() && CLI::Range(least, most)(bytes).empty()) {
      text = bytes;
      return "";
    }
  } catch (const CLI::ValidationError&) {  // it is no size at all
  }
  return "takes 64KiB to 4GiB, not '" + text + "'";
}

void set_device(Options& options, const std::string& name) {
  try {
    options.device = quarry::Device::parse(name);
  } catch (const quarry::Error& error) {
    throw CLI::ValidationError("--device " + name, error.what());
  }
}

}  // namespace

std::optional<int> parse_options(Options& options, int argc, const char* const* argv) {
  CLI::App app("Times copies and allocations on one device, beside what the machine gives.",
               "quarry-bench");
  app.add_option(
         "part", options.part,
         "transfers: copies between host and device: kinds of host memory, directions, sizes,\n"
         "layouts, streams, each beside what the link gives in the same run\n"
         "allocation: Quarry's pool beside the driver's pool and plain driver calls")
      ->required()
      ->check(CLI::IsMember({"transfers", "allocation"}));
  app.add_option_function<std::string>(
         "--device", [&](const std::string& name) { set_device(options, name); },
         "cuda, cuda:1 or cpu; without it the default device")
      ->type_name("NAME");
  app.add_flag("--quick", options.quick, "a few seconds instead of up to a minute");
  app.add_option("--max", options.most_bytes,
                 "the largest copy or block, 64KiB to 4GiB (default: 1GiB, 256MiB on the CPU,\n"
                 "with --quick 64MiB)")
      ->transform(CLI::Validator(read_size, ""))
      ->type_name("SIZE");
  app.add_option("--json", options.json, "every result, for programs")->type_name("FILE");
  app.add_option("--html", options.html, "one page with plots and every result, for people")
      ->type_name("FILE");
  return parse_command_line(app, argc, argv);
}

}  // namespace bench
