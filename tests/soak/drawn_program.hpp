// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <cstdint>
#include <string>

#include "soak/model.hpp"

namespace quarry::soak {

/// An array that all programs of all threads read, in streams that come and go.
struct Lasting {
  Lasting();
  static constexpr std::int64_t length = 64;
  const Model model;
  const DeviceNDArray<std::int64_t> array;
};

/// Draws a program of arrays, views, expressions, reductions and transfers over some streams, runs
/// it and compares what comes out with plain loops. Throws WrongValues.
void run_drawn_program(std::uint64_t seed, const Lasting& lasting);

/// What differs, and where.
struct WrongValues : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace quarry::soak
