// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/access.hpp"

#include <fmt/ranges.h>

namespace quarry::backend::cuda {
namespace {

std::string in_braces(const std::vector<std::string>& words) {
  return words.size() == 1 ? words[0] : fmt::format("{{{}}}", fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string> PtxAccess::load(PtxCode& code, const std::string& at) const {
  std::vector<std::string> words(static_cast<std::size_t>(bytes() / word_bytes()));
  for (std::string& word : words) word = code.for_type(type_);
  code.add("ld.global.{} {}, [{}]", suffix(), in_braces(words), at);
  return words;
}

PtxValue PtxAccess::element(PtxCode& code, const std::vector<std::string>& words,
                            int number) const {
  const int of_word = elements_of_word();
  std::string value = words[static_cast<std::size_t>(number / of_word)];
  if (number % of_word > 0) {
    value = code.word_of("shr.u32", fmt::format("{}, {}", value, number % of_word * size_ * 8));
  }
  if (type_ == TypeId::bool_) {  // another library's may be any byte
    const std::string byte = code.word_of("and.b32", value + ", 255");
    const std::string is_true = code.test("setp.ne.u32", byte + ", 0");
    value = code.word_of("selp.u32", "1, 0, " + is_true);
  }
  return {type_, value};
}

std::string PtxAccess::word_of(PtxCode& code, const std::vector<PtxValue>& values) const {
  std::string word = values[0].in;
  for (int k = 1; k < elements_of_word(); ++k) {
    const std::string& next = values[values.size() == 1 ? 0 : static_cast<std::size_t>(k)].in;
    word = code.word_of("bfi.b32", fmt::format("{}, {}, {}, {}", next, word, k * size_ * 8,
                                               (elements_of_word() - k) * size_ * 8));
  }
  return word;
}

void PtxAccess::store(PtxCode& code, const std::string& at, const std::vector<std::string>& words,
                      const std::string& condition) const {
  code.add("{} st.global.{} [{}], {}", condition, suffix(), at, in_braces(words));
}

std::string PtxAccess::suffix() const {
  const char kind = word_bytes() < 4 ? 'u' : 'b';
  const std::string word = fmt::format("{}{}", kind, 8 * word_bytes());
  const int words = bytes() / word_bytes();
  return words == 1 ? word : fmt::format("v{}.{}", words, word);
}

}  // namespace quarry::backend::cuda
