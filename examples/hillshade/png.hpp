// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <span>
#include <string>

/// Writes 8-bit grey pixels, rows from the top, as a PNG file. Throws std::runtime_error with
/// libpng's reason; no file is left behind then.
void write_png(const std::string& path, std::span<const std::uint8_t> pixels, std::uint32_t width,
               std::uint32_t height);
