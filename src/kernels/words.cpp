// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/words.hpp"

#include <quarry/kernels/map.hpp>

namespace quarry::kernels {

const program& copy_program_of(std::size_t word) {
  return word_program(
      word, []<class Word>(std::type_identity<Word>) -> auto& {
        return program_for<map_of<in<Word, 0>, Word, 0, Word>>::value;
      });
}

}  // namespace quarry::kernels
