// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/program.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The words of 1 to 16 bytes by which kernels move elements of any type.
namespace quarry::kernels {

/// The size of the largest word of which all numbers are multiples whose bits `places` has.
inline std::size_t common_word(std::uint64_t places) {
  return std::size_t{1} << std::countr_zero(places | 16);
}

/// The program that `of` returns for std::type_identity<Word>, the word of so many bytes.
template <class F>
const program& word_program(std::size_t word, const F& of) {
  switch (word) {
    case 1:
      return of(std::type_identity<u8>());
    case 2:
      return of(std::type_identity<u16>());
    case 4:
      return of(std::type_identity<u32>());
    case 8:
      return of(std::type_identity<u64>());
    default:
      return of(std::type_identity<record<16, 16>>());
  }
}

/// The program that copies words of so many bytes.
const program& copy_program_of(std::size_t word);

}  // namespace quarry::kernels
