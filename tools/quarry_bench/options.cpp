// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/options.hpp"

#include <charconv>

namespace bench {

const char* const usage =
    "usage: quarry-bench transfers|allocation [options]\n"
    "  transfers        copies between host and device: kinds of host memory, directions, sizes,\n"
    "                   layouts, streams, each beside what the link gives in the same run\n"
    "  allocation       Quarry's pool beside the driver's pool and plain driver calls\n"
    "options:\n"
    "  --device NAME    cuda, cuda:1 or cpu; without it the default device\n"
    "  --quick          a few seconds instead of up to a minute\n"
    "  --max SIZE       the largest copy or block, 64KiB to 4GiB (default: 1GiB, 256MiB on the "
    "CPU,\n"
    "                   with --quick 64MiB)\n"
    "  --json FILE      every result, for programs\n"
    "  --html FILE      one page with plots and every result, for people\n"
    "  --help           this text\n";

namespace {

Part parse_part(std::string_view text) {
  if (text == "transfers") return Part::transfers;
  if (text == "allocation") return Part::allocation;
  throw quarry::LogicError("there is no part '" + std::string(text) +
                           "': say transfers or allocation");
}

std::size_t parse_most_bytes(std::string_view text) {
  constexpr std::size_t least = std::size_t{64} << 10, most = std::size_t{4} << 30;
  const std::size_t bytes = parse_size(text);
  quarry::require<quarry::LogicError>(bytes >= least && bytes <= most, [&] {
    return "--max takes 64KiB to 4GiB, not '" + std::string(text) + "'";
  });
  return bytes;
}

}  // namespace

std::size_t parse_size(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view units[] = {"", "K", "M", "G"};
  for (unsigned i = 0; i < 4 && error == std::errc{}; ++i) {
    const bool named =
        unit == units[i] ||
        (i > 0 && (unit == std::string(units[i]) + "iB" || unit == std::string(units[i]) + "B"));
    if ((named || (i == 0 && unit == "B")) && value <= (~std::size_t{0} >> (10 * i))) {
      return value << (10 * i);
    }
  }
  throw quarry::LogicError("'" + std::string(text) +
                           "' is no size: write 4096, 64KiB, 16MiB, 1GiB");
}

Options parse_options(const std::vector<std::string_view>& arguments) {
  Options options;
  bool has_part = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const auto value = [&] {
      quarry::require<quarry::LogicError>(i + 1 < arguments.size(),
                                          [&] { return std::string(word) + " needs a value"; });
      return arguments[++i];
    };
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--device") {
      options.device = quarry::Device::parse(std::string(value()));
    } else if (word == "--max") {
      options.most_bytes = parse_most_bytes(value());
    } else if (word == "--json") {
      options.json = value();
    } else if (word == "--html") {
      options.html = value();
    } else if (word.starts_with("-") || has_part) {
      throw quarry::LogicError("unknown option '" + std::string(word) + "'");
    } else {
      options.part = parse_part(word);
      has_part = true;
    }
  }
  quarry::require<quarry::LogicError>(has_part || options.help,
                                      "say what to measure: transfers or allocation");
  return options;
}

}  // namespace bench
