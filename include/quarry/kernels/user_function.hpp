// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>
#include <string_view>

/// Checks of a QUARRY_FUNCTION by its text, before NVRTC compiles it, and the other such functions
/// that it calls.
namespace quarry::kernels {

/// A user function (QUARRY_FUNCTION) in an expression: its type's name and the source of its body.
struct user_function {
  std::string_view type_name;
  const char* source;
  int text = -1;  ///< the scalar of the call that has the source instead: text_function.hpp
};

namespace text {

/// A token of C++; empty at the end.
struct token {
  std::string_view text;
  bool is_name = false;

  constexpr bool is(std::string_view other) const { return text == other; }
};

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Removes the first token of `rest` and returns it.
constexpr token next_token(std::string_view& rest) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n' || rest.front() == '\t')) {
    rest.remove_prefix(1);
  }
  if (rest.empty()) return {};
  const char first = rest.front();
  const bool is_digit = first >= '0' && first <= '9';
  std::size_t n = 1;
  if (is_digit || is_name_character(first)) {
    while (n < rest.size()) {
      const char before = rest[n - 1];
      const bool is_sign = is_digit && (rest[n] == '+' || rest[n] == '-') &&
                           (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool is_point = is_digit && (rest[n] == '.' || rest[n] == '\'');
      if (!is_name_character(rest[n]) && !is_sign && !is_point) break;
      ++n;
    }
  } else if (rest.starts_with("::") || rest.starts_with("->")) {
    n = 2;
  } else if (first == '.' && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9') {
    while (n < rest.size() && is_name_character(rest[n])) ++n;
  }
  const token result{rest.substr(0, n), !is_digit && is_name_character(first)};
  rest.remove_prefix(n);
  return result;
}

/// Whether two texts are the same tokens.
constexpr bool is_same_text(std::string_view a, std::string_view b) {
  while (true) {
    const token x = next_token(a), y = next_token(b);
    if (!x.is(y.text)) return false;
    if (x.text.empty()) return true;
  }
}

/// Statements that return, as opposed to one expression.
constexpr bool has_statements(std::string_view body) {
  const token first = next_token(body);
  if (first.is("{") || first.is("if") || first.is("for") || first.is("while")) return true;
  int depth = 0;
  for (token t = first; !t.text.empty(); t = next_token(body)) {
    depth += (t.is("{") ? 1 : 0) - (t.is("}") ? 1 : 0);
    if (depth == 0 && t.is(";")) return true;
  }
  return false;
}

constexpr bool names_a_scope(std::string_view body) {
  for (token t = next_token(body); !t.text.empty(); t = next_token(body)) {
    if (t.is("::")) return true;
  }
  return false;
}

constexpr bool is_among(std::string_view name, const std::string_view* names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return true;
  }
  return false;
}
template <std::size_t N>
constexpr bool is_among(std::string_view name, const std::string_view (&names)[N]) {
  return is_among(name, names, N);
}

inline constexpr std::string_view types[] = {
    "auto",  "bool",   "char",     "short",   "int",      "long",      "float",    "double",
    "const", "signed", "unsigned", "float16", "bfloat16", "constexpr", "typename", "using"};
inline constexpr std::string_view words[] = {
    "true", "false",   "if",    "else",     "for",     "while",       "do",     "switch",
    "case", "default", "break", "continue", "return",  "static_cast", "sizeof", "decltype",
    "and",  "or",      "not",   "xor",      "mutable", "complex"};
/// What a body can call: kernels/function.hpp.
inline constexpr std::string_view functions[] = {
#define QUARRY_UNARY(name, ...) #name,
#define QUARRY_BINARY(name, ...) #name,
#define QUARRY_TERNARY(name, ...) #name,
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
#define QUARRY_UNARY_ALIAS(alias, row) #alias,
#define QUARRY_BINARY_ALIAS(alias, row) #alias,
#include <quarry/kernels/aliases.def>
#undef QUARRY_UNARY_ALIAS
#undef QUARRY_BINARY_ALIAS
};

/// Finds the names in a body that it does not declare.
class reader {
 public:
  constexpr reader(std::string_view parameters, std::string_view body) : rest_(body) {
    for (token t = next_token(parameters); !t.text.empty(); t = next_token(parameters)) {
      if (t.is_name) declare(t.text);
    }
  }
  struct use {
    std::string_view name;  ///< empty at the end
    bool is_call = false;
  };
  /// The next name that is neither declared before nor a keyword nor in `functions`.
  constexpr use next() {
    for (token t = next_token(rest_); !t.text.empty(); t = next_token(rest_)) {
      const bool is_new = t.is_name && read_name(t.text);
      if (!t.is_name) read_symbol(t.text);
      before_ = t;
      if (is_new) return {t.text, is_called()};
    }
    return {};
  }

 private:
  constexpr bool is_called() const {
    std::string_view rest = rest_;
    return next_token(rest).is("(");
  }
  constexpr void declare(std::string_view name) {
    if (count_ < most) declared_[count_++] = name;
  }
  /// Whether the name is unknown.
  constexpr bool read_name(std::string_view name) {
    if (before_.is(".") || before_.is("->")) return false;
    if (is_among(name, types)) {
      is_after_type_ = true;
      return false;
    }
    if (name == "decltype") closing_ = depth_;
    const bool is_word = is_among(name, words);
    const bool is_declared_here =
        !is_word &&
        (is_after_type_ || (before_.is_name && is_among(before_.text, declared_, count_)));
    is_after_type_ = false;
    if (is_declared_here) {
      declare(name);
      declaration_ = depth_;
      return false;
    }
    if (is_word || is_among(name, declared_, count_)) return false;
    return !(is_called() && is_among(name, functions));
  }
  constexpr void read_symbol(std::string_view symbol) {
    const bool opens = symbol == "(" || symbol == "{" || symbol == "[";
    const bool closes = symbol == ")" || symbol == "}" || symbol == "]";
    depth_ += (opens ? 1 : 0) - (closes ? 1 : 0);
    if (symbol == ";" || depth_ < declaration_) declaration_ = nowhere;
    const bool ends_type = closes && depth_ == closing_;  // of decltype(...)
    if (ends_type) closing_ = nowhere;
    const bool ends_template = symbol == ">" && before_.is_name && is_among(before_.text, types);
    const bool is_next_declared = symbol == "," && depth_ == declaration_;
    const bool belongs_to_type = symbol == "*" || symbol == "&";
    is_after_type_ =
        ends_type || ends_template || is_next_declared || (is_after_type_ && belongs_to_type);
  }

  static constexpr std::size_t most = 64;
  static constexpr int nowhere = 1 << 20;
  std::string_view rest_;
  std::string_view declared_[most];
  std::size_t count_ = 0;
  token before_;
  int depth_ = 0, declaration_ = nowhere, closing_ = nowhere;
  bool is_after_type_ = false;
};

/// Whether all unknown names are called: they are user functions, or the first use throws.
constexpr bool names_are_known(std::string_view parameters, std::string_view body) {
  reader names(parameters, body);
  for (auto use = names.next(); !use.name.empty(); use = names.next()) {
    if (!use.is_call) return false;
  }
  return true;
}
constexpr bool has_calls(std::string_view parameters, std::string_view body) {
  return !reader(parameters, body).next().name.empty();
}

}  // namespace text

/// A QUARRY_FUNCTION that others may call, registered as long as its program or library is loaded.
class registered_function {
 public:
  registered_function(const user_function& function, const char* parameters, const char* body,
                      const char* file);
  registered_function(const registered_function&) = delete;
  registered_function& operator=(const registered_function&) = delete;
  ~registered_function();

  user_function function;
  const char *parameters, *body, *file;
};

/// Throws CompileError if `function` calls something that is no QUARRY_FUNCTION of its namespace or
/// of an enclosing one.
void require_known_calls(const user_function& function);

}  // namespace quarry::kernels
