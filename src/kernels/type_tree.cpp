// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/type_tree.hpp"

#include <quarry/kernels/user_function.hpp>

#include <algorithm>

namespace quarry::kernels {
namespace {

struct Spelled {
  std::string_view type;
  TypeId id;
};
constexpr Spelled spelled[] = {{"bool", TypeId::bool_},
                               {"signed char", TypeId::int8},
                               {"unsigned char", TypeId::uint8},
                               {"short", TypeId::int16},
                               {"short int", TypeId::int16},
                               {"unsigned short", TypeId::uint16},
                               {"short unsigned int", TypeId::uint16},
                               {"int", TypeId::int32},
                               {"unsigned int", TypeId::uint32},
                               {"unsigned", TypeId::uint32},
                               {"long", TypeId::int64},
                               {"long int", TypeId::int64},
                               {"unsigned long", TypeId::uint64},
                               {"long unsigned int", TypeId::uint64},
                               {"float", TypeId::float32},
                               {"double", TypeId::float64},
                               {"float16", TypeId::float16},
                               {"bfloat16", TypeId::bfloat16},
                               {"complex<float>", TypeId::complex64},
                               {"complex<double>", TypeId::complex128}};

std::string_view trimmed(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(' ') + 1);  // npos + 1 is 0
}

std::string_view unqualified(std::string_view name) {
  const auto colon = name.rfind("::", std::min(name.find('<'), name.size()));
  return colon == name.npos ? name : name.substr(colon + 2);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<TypeTree> whole() {
    std::optional<TypeTree> tree = type();
    return tree && at_ == text_.size() ? std::move(tree) : std::nullopt;
  }

 private:
  bool is_word(std::size_t at) const {
    const char c = text_[at];
    return text::is_name_character(c) || c == ' ' || c == ':' || c == '-';
  }
  /// Up to the comma or bracket behind it.
  std::optional<TypeTree> type() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(at_)) ++at_;
    TypeTree tree;
    tree.name = unqualified(trimmed(text_.substr(begin, at_ - begin)));
    if (tree.name.empty()) return std::nullopt;
    if (at_ < text_.size() && text_[at_] == '<') {
      if (!arguments(tree.arguments)) return std::nullopt;
    }
    tree.text = trimmed(text_.substr(begin, at_ - begin));
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return tree;
  }
  bool arguments(std::vector<TypeTree>& found) {
    if (text_.substr(at_).starts_with("<>")) return at_ += 2, true;
    do {
      ++at_;
      std::optional<TypeTree> argument = type();
      if (!argument || at_ == text_.size()) return false;
      found.push_back(std::move(*argument));
    } while (text_[at_] == ',');
    return text_[at_++] == '>';
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<TypeTree> parse_type(std::string_view text) { return Parser(text).whole(); }

std::optional<TypeId> element_type(std::string_view name) {
  const auto* const found = std::ranges::find(spelled, unqualified(name), &Spelled::type);
  return found == std::end(spelled) ? std::nullopt : std::optional(found->id);
}

}  // namespace quarry::kernels
