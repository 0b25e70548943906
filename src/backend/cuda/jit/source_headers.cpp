// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/source_headers.hpp"

#include <algorithm>

#include "backend/cuda/jit/digest.hpp"
#include "backend/source_kernel.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::string_view blanks = " \t", word = "include";

/// Lines that end in a backslash go on in the next one.
std::string without_splices(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto next = text[i] == '\\' ? text.find_first_not_of(" \t\r", i + 1) : text.npos;
    if (next != text.npos && text[next] == '\n') {
      i = next;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// Whether the line has a directive before this place: '#' and blanks alone.
bool is_directive(std::string_view text, std::size_t at) {
  const auto begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
  const std::string_view before = text.substr(begin, at - begin);
  const auto hash = before.find_first_not_of(blanks);
  return hash != before.npos && before[hash] == '#' &&
         before.find_first_not_of(blanks, hash + 1) == before.npos;
}

/// Whether one of the headers is named here: <name> or "name".
bool names_header(std::string_view text) {
  const auto begin = text.find_first_not_of(blanks);
  if (begin == text.npos || (text[begin] != '<' && text[begin] != '"')) return false;
  const auto end = text.find(text[begin] == '<' ? '>' : '"', begin + 1);
  if (end == text.npos) return false;
  const std::string_view name = text.substr(begin + 1, end - begin - 1);
  return std::ranges::any_of(source_headers(),
                             [&](const EmbeddedHeader& header) { return header.name == name; });
}

/// #embed, which newer compilers have.
bool embeds(std::string_view text) {
  constexpr std::string_view embed = "embed";
  for (auto at = text.find(embed); at != text.npos; at = text.find(embed, at + 1)) {
    const auto before = text.find_last_not_of(blanks, at == 0 ? at : at - 1);
    if (at > 0 && before != text.npos && (text[before] == '#' || text[before] == ':')) return true;
  }
  return false;
}

}  // namespace

const std::vector<EmbeddedHeader>& source_headers() {
  static const auto& headers = *new const std::vector<EmbeddedHeader>([] {
    std::vector<EmbeddedHeader> found{
        {"quarry/device_view.cuh", "#include <quarry/kernels/device_view.hpp>\n"}};
    for (int i = 0; i < embedded_header_count; ++i) {
      if (std::string_view(embedded_headers[i].name).starts_with("quarry/")) {
        found.push_back(embedded_headers[i]);
      }
    }
    return found;
  }());
  return headers;
}

const std::string& source_headers_digest() {
  static const auto& result = *new const std::string([] {
    Digest digest;
    for (const EmbeddedHeader& header : source_headers()) {
      digest.add_field(header.name).add_field(header.text);
    }
    return digest.hex();
  }());
  return result;
}

bool may_read_files(std::string_view text) {
  const std::string whole = without_splices(text);
  for (auto at = whole.find(word); at != whole.npos; at = whole.find(word, at + 1)) {
    const std::string_view rest = std::string_view(whole).substr(at + word.size());
    if (!is_directive(whole, at) || !names_header(rest)) return true;
  }
  return embeds(whole);
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

bool includes_only_embedded(const std::string& text) { return !cuda::may_read_files(text); }

}  // namespace quarry::backend
