// SPDX-License-Identifier: BSD-3-Clause
#include "io/python_literal.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quarry::npy {

void refuse(const std::string& why) { throw FormatError("npy: " + why); }

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown;
  for (const char c : text.substr(0, longest)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > longest ? "...'" : "'");
}

bool Literal::accept(char c) {
  skip_space();
  if (rest().empty() || rest().front() != c) return false;
  ++at_;
  return true;
}

void Literal::expect(char c) {
  if (!accept(c)) fail(fmt::format("'{}' expected", c));
}

std::string_view Literal::string() {
  const char quote = accept('"') ? '"' : '\'';
  if (quote == '\'') expect('\'');
  const std::size_t size = rest().find(quote);
  if (size == std::string_view::npos) fail("a string without an end");
  const std::string_view value = rest().substr(0, size);
  if (value.find('\\') != std::string_view::npos) fail("an escape in a string");
  at_ += size + 1;
  return value;
}

bool Literal::boolean() {
  for (const std::string_view word : {"True", "False"}) {
    skip_space();
    if (!rest().starts_with(word)) continue;
    at_ += word.size();
    return word == "True";
  }
  fail("True or False expected");
}

Shape Literal::shape() {
  expect('(');
  Shape extents;
  while (!accept(')')) {
    if (extents.size() == max_rank) fail(fmt::format("more than {} dimensions", max_rank));
    extents.push_back(extent());
    const bool more = accept(',');
    if (!more && extents.size() == 1) fail("a tuple of one without its comma");
    if (more) continue;
    expect(')');
    break;
  }
  return extents;
}

void Literal::expect_end() {
  skip_space();
  if (!rest().empty()) fail("text after the dictionary");
}

void Literal::fail(const std::string& why) const {
  refuse(fmt::format("{} at character {} of the header: {}", why, at_, quoted(rest())));
}

void Literal::skip_space() {
  while (!rest().empty() && rest().front() == ' ') ++at_;
}

std::int64_t Literal::extent() {
  skip_space();
  const std::string_view digits =
      rest().substr(0, std::min(rest().find_first_not_of("0123456789"), rest().size()));
  if (digits.empty()) fail("an extent in decimal digits expected");
  if (digits.size() > 1 && digits.front() == '0') fail("an extent with leading zeros");
  std::int64_t value = 0;
  for (const char c : digits)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
      fail("an extent of more than 63 bits");
  at_ += digits.size();
  return value;
}

}  // namespace quarry::npy
