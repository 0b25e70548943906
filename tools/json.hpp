// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

/// `text` as a string of JSON.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}
