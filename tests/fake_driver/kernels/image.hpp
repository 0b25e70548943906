// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::fake {

/// What the fake compiler makes: the names of the kernels, as text that ends in a null character.
struct Image {
  int architecture = 0;  ///< 90 is 9.0
  bool is_ptx = false;
  std::map<std::string, std::string> functions;       ///< mangled name to name expression
  std::map<std::string, std::size_t> variables = {};  ///< their bytes

  /// As the driver rules: machine code on the same major version and its later minors, PTX on newer
  /// GPUs.
  bool runs_on(int device) const {
    return architecture <= device && (is_ptx || architecture / 10 == device / 10);
  }
};

/// What LTO-IR begins with: here an image follows.
inline constexpr std::string_view ltoir_magic = "\xed\x43\x4e\x7f";

std::string write_image(const Image& image);
std::optional<Image> parse_image(const char* text);
/// Stands for the mangled name.
std::string mangled(const std::string& expression);

}  // namespace quarry::fake
