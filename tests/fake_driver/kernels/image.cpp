// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/image.hpp"

#include <sstream>

#include "backend/cuda/jit/digest.hpp"

namespace quarry::fake {
namespace {
constexpr const char* magic = "QUARRY-FAKE-IMAGE";
constexpr std::string_view variable = "variable:";
}  // namespace

std::string write_image(const Image& image) {
  std::ostringstream text;
  text << magic << '\n' << image.architecture << ' ' << image.is_ptx << '\n';
  for (const auto& [name, expression] : image.functions) text << name << ' ' << expression << '\n';
  for (const auto& [name, bytes] : image.variables)
    text << variable << name << ' ' << bytes << '\n';
  return text.str() + '\0';
}

std::optional<Image> parse_image(const char* text) {
  if (!text) return std::nullopt;
  const std::string_view begin = magic;
  for (std::size_t i = 0; i < begin.size(); ++i) {  // stops at an early end
    if (text[i] != begin[i]) return std::nullopt;
  }
  std::istringstream lines(text + begin.size() + 1);
  Image image;
  if (!(lines >> image.architecture >> image.is_ptx)) return std::nullopt;
  std::string name, expression;
  while (lines >> name && lines.get() && std::getline(lines, expression)) {
    if (name.starts_with(variable)) {
      image.variables[name.substr(variable.size())] = std::stoul(expression);
    } else {
      image.functions[name] = expression;
    }
  }
  return image;
}

std::string mangled(const std::string& expression) {
  return "_ZN6quarry4fake" + backend::cuda::Digest().add(expression).hex();
}

}  // namespace quarry::fake
