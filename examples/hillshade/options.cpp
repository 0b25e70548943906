// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <charconv>
#include <sstream>
#include <string_view>

const char* const usage = R"(Usage: hillshade [dem.npy] [options]
Slope, aspect and shaded relief of a digital elevation model: a float32 array of metres whose rows
run from north to south. Cells that are NaN or below -9990 hold no data; they come out black.
  --tile N            repeat the terrain N x N, mirrored so that it joins (1 to 1000; default 1)
  --compare           compute the same with xtensor on the host; differ too much: exit code 1
  --output PATH       the picture, at most its top left 4096 x 4096 (default hillshade.png)
  --device NAME       cpu, cuda or cuda:1 (default: the first GPU, else the CPU)
  --azimuth DEGREES   of the sun, clockwise from north (0 to 360; default 315)
  --altitude DEGREES  of the sun above the horizon (0 to 90; default 45)
  --cell DX,DY        metres from cell to cell (default 74.573,92.475, those of jacksboro.npy)
  --help              this text
)";

namespace {

template <class T>
T number(std::string_view option, std::string_view text, T lowest, T highest) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool complete = error == std::errc{} && end == text.data() + text.size();
  if (complete && value >= lowest && value <= highest) return value;
  std::ostringstream message;
  message << option << " takes a number from " << lowest << " to " << highest << ", not '" << text
          << "'";
  throw UsageError(message.str());
}

void set_cell(Scene& scene, std::string_view text) {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos)
    throw UsageError("--cell takes two numbers with a comma between, not '" + std::string(text) +
                     "'");
  scene.dx = number("--cell", text.substr(0, comma), 0.001f, 1e6f);
  scene.dy = number("--cell", text.substr(comma + 1), 0.001f, 1e6f);
}

std::string device_name(std::string_view text) {
  const auto ordinal = text.starts_with("cuda:") ? text.substr(5) : "0";
  const bool digits = !ordinal.empty() && ordinal.size() < 4 &&
                      ordinal.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || (text != "cpu" && !text.starts_with("cuda")) ||
      (text.size() > 4 && text[4] != ':'))
    throw UsageError("--device takes cpu, cuda or cuda:N, not '" + std::string(text) + "'");
  return std::string(text);
}

void set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "--tile")
    options.tile = number<std::size_t>(name, value, 1, 1000);
  else if (name == "--output")
    options.output = value;
  else if (name == "--device")
    options.device = device_name(value);
  else if (name == "--azimuth")
    options.scene.azimuth = number(name, value, 0.f, 360.f);
  else if (name == "--altitude")
    options.scene.altitude = number(name, value, 0.f, 90.f);
  else if (name == "--cell")
    set_cell(options.scene, value);
  else
    throw UsageError("no option " + std::string(name));
}

}  // namespace

Options parse(std::span<const char* const> arguments) {
  Options options;
  bool has_input = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help") {
      options.help = true;
    } else if (argument == "--compare") {
      options.compare = true;
    } else if (argument.starts_with("-")) {
      if (i + 1 == arguments.size())
        throw UsageError(std::string(argument) + ": no value after it, or no such option");
      set_option(options, argument, arguments[++i]);
    } else if (!has_input) {
      options.input = argument;
      has_input = true;
    } else {
      throw UsageError("one elevation model at a time, not also " + std::string(argument));
    }
  }
  return options;
}
