// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/short_runs.hpp"

#include <algorithm>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace quarry::memory {
namespace {

constexpr std::size_t vector = 16;

#ifdef __x86_64__

constexpr std::size_t ahead = 1024;  // bytes of prefetch distance

__m128i load(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
__m128i load(const std::array<std::uint8_t, vector>& bytes) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data()));
}

/// Every vector is stored whole: the next one overwrites what is not packed.
[[gnu::target("ssse3")]] std::size_t pack_vectors(std::byte* to, const std::byte* from,
                                                  std::size_t last, std::size_t each,
                                                  std::size_t run, std::size_t step,
                                                  __m128i places) {
  std::size_t i = 0;
  for (; i <= last; i += each) {
    const __m128i runs = _mm_shuffle_epi8(load(from + i * step), places);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * run), runs);
  }
  return i;
}

[[gnu::target("ssse3,avx512bw,avx512vl")]] std::size_t unpack_vectors(
    std::byte* to, const std::byte* from, std::size_t last, std::size_t each, std::size_t run,
    std::size_t step, __m128i places, std::uint16_t written) {
  std::size_t i = 0;
  for (; i <= last; i += each) {
    std::byte* const at = to + i * step;
    __builtin_prefetch(at + ahead, 1, 3);
    _mm_mask_storeu_epi8(at, written, _mm_shuffle_epi8(load(from + i * run), places));
  }
  return i;
}

#endif

}  // namespace

ShortRuns::ShortRuns(std::size_t run, std::size_t step) : run_(run), step_(step) {
  if (step <= run || step > vector - std::min(run, vector)) return;
  if (run >= 4 && step == 2 * run) return;  // pack_every_other has wider vectors
  each_ = (vector - run) / step + 1;
  least_ = (vector + run - 1) / run;  // those apart are longer
  packed_.fill(0x80);
  spread_.fill(0x80);
  for (std::size_t k = 0; k < each_ * run; ++k) {
    const std::size_t at = k / run * step + k % run;
    packed_[k] = static_cast<std::uint8_t>(at);
    spread_[at] = static_cast<std::uint8_t>(k);
    written_ = static_cast<std::uint16_t>(written_ | 1u << at);
  }
}

std::size_t ShortRuns::pack([[maybe_unused]] std::byte* to, [[maybe_unused]] const std::byte* from,
                            [[maybe_unused]] std::size_t count) const {
#ifdef __x86_64__
  static const bool has_shuffles = __builtin_cpu_supports("ssse3");
  if (each_ == 0 || count < least_ || !has_shuffles) return 0;
  return pack_vectors(to, from, count - least_, each_, run_, step_, load(packed_));
#else
  return 0;
#endif
}

std::size_t ShortRuns::unpack([[maybe_unused]] std::byte* to,
                              [[maybe_unused]] const std::byte* from,
                              [[maybe_unused]] std::size_t count) const {
#ifdef __x86_64__
  static const bool has_masks =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (each_ == 0 || count < least_ || !has_masks) return 0;
  return unpack_vectors(to, from, count - least_, each_, run_, step_, load(spread_), written_);
#else
  return 0;
#endif
}

}  // namespace quarry::memory
