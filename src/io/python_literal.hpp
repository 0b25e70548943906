// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/shape.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::npy {

/// Throws FormatError.
[[noreturn]] void refuse(const std::string& why);

/// Untrusted text for a message: short, and printable ASCII only.
std::string quoted(std::string_view text);

/// The part of Python's literals that numpy.save writes: strings, bools, and tuples of integers
/// that are not negative. What nests is up to the caller. All throw FormatError for another token.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool accept(char c);
  void expect(char c);
  std::string_view string();
  bool boolean();
  Shape shape();
  void expect_end();
  [[noreturn]] void fail(const std::string& why) const;

 private:
  std::string_view rest() const { return text_.substr(at_); }
  void skip_space();
  std::int64_t extent();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace quarry::npy
