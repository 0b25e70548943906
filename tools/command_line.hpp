// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

/// Reads the command line into what the options of `app` name. Gives the exit code where there is
/// nothing left to do: 0 after --help, 2 after a refusal, with the reason and the usage.
inline std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  app.get_formatter()->label("Usage", "usage");
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& error) {
    std::cerr << app.get_name() << ": " << error.what() << '\n' << app.help();
    return 2;
  }
}
