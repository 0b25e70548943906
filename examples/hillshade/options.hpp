// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "terrain.hpp"

#include <span>
#include <stdexcept>
#include <string>

struct Options {
  std::string input = "examples/data/jacksboro.npy";
  std::string output = "hillshade.png";
  std::string device;  ///< empty: the default device
  std::size_t tile = 1;
  Scene scene;
  bool compare = false;
  bool help = false;
};

/// The command line cannot be understood; the text says what is wrong with it.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

extern const char* const usage;

/// Throws UsageError.
Options parse(std::span<const char* const> arguments);
