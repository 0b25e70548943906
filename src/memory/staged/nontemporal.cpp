// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/nontemporal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace quarry::memory {
namespace {

constexpr std::size_t line = 64;     // of the caches
constexpr std::size_t ahead = 1024;  // bytes of prefetch distance

template <std::size_t N>
void gather_plain(std::byte* to, const std::byte* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * N, from + i * 2 * N, N);
}
template <std::size_t N>
void scatter_plain(std::byte* to, const std::byte* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * 2 * N, from + i * N, N);
}

#ifdef __x86_64__

__m128i load(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
void store(std::byte* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

/// The low halves (of 4 or 8 bytes) of the pairs in two vectors.
template <std::size_t N>
__m128i first_halves(__m128i a, __m128i b) {
  const __m128 x = _mm_castsi128_ps(a), y = _mm_castsi128_ps(b);
  if constexpr (N == 4) {
    return _mm_castps_si128(_mm_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)));
  } else {
    return _mm_castps_si128(_mm_shuffle_ps(x, y, _MM_SHUFFLE(1, 0, 1, 0)));
  }
}

/// Does not read past the last element: the rest is left to the plain loop.
template <std::size_t N>
std::size_t gather_lines(std::byte* to, const std::byte* from, std::size_t count) {
  constexpr std::size_t step = 32 / N;  // elements of 64 bytes of strided memory
  std::size_t i = 0;
  for (; i + step < count; i += step) {
    const std::byte* const line = from + i * 2 * N;
    _mm_prefetch(reinterpret_cast<const char*>(line) + ahead, _MM_HINT_T0);
    store(to + i * N, first_halves<N>(load(line), load(line + 16)));
    store(to + i * N + 16, first_halves<N>(load(line + 32), load(line + 48)));
  }
  return i;
}

[[gnu::target("avx512f")]] std::size_t stream_512(std::byte* to, const std::byte* from,
                                                  std::size_t bytes) {
  std::size_t i = 0;
  for (; i + 2 * line <= bytes; i += 2 * line) {
    const __m512i a = _mm512_loadu_si512(from + i), b = _mm512_loadu_si512(from + i + line);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + line), b);
  }
  return i;
}
std::size_t stream_128(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + line <= bytes; i += line) {
    const __m128i a = load(from + i), b = load(from + i + 16), c = load(from + i + 32),
                  d = load(from + i + 48);
    auto* const at = reinterpret_cast<__m128i*>(to + i);
    _mm_stream_si128(at, a);
    _mm_stream_si128(at + 1, b);
    _mm_stream_si128(at + 2, c);
    _mm_stream_si128(at + 3, d);
  }
  return i;
}
/// Whole lines of memory that begins with one; returns how many bytes.
std::size_t stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  static const bool has_wide_stores = __builtin_cpu_supports("avx512f");
  return has_wide_stores ? stream_512(to, from, bytes) : stream_128(to, from, bytes);
}

[[gnu::target("avx512f")]] std::size_t scatter_masked_4(std::byte* to, const std::byte* from,
                                                        std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::byte* const line = to + i * 8;
    __builtin_prefetch(line + ahead, 1, 3);
    const __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * 4));
    _mm512_mask_storeu_epi32(line, 0x5555, _mm512_maskz_cvtepu32_epi64(0xFF, eight));
  }
  return i;
}
[[gnu::target("avx512f")]] std::size_t scatter_masked_8(std::byte* to, const std::byte* from,
                                                        std::size_t count) {
  const __m512i places = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    std::byte* const line = to + i * 16;
    __builtin_prefetch(line + ahead, 1, 3);
    const __m512i four = _mm512_maskz_loadu_epi64(0x0F, from + i * 8);
    const __m512i spread = _mm512_maskz_permutexvar_epi64(0x55, places, four);
    _mm512_mask_storeu_epi64(line, 0x55, spread);
  }
  return i;
}

template <std::size_t N>
std::size_t scatter_prefetched(std::byte* to, const std::byte* from, std::size_t count) {
  constexpr std::size_t step = 32 / N;
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    __builtin_prefetch(to + i * 2 * N + ahead, 1, 3);
    scatter_plain<N>(to + i * 2 * N, from + i * N, step);
  }
  return i;
}

template <std::size_t N>
std::size_t scatter_lines(std::byte* to, const std::byte* from, std::size_t count) {
  static const bool has_masks = __builtin_cpu_supports("avx512f");
  if (!has_masks) return scatter_prefetched<N>(to, from, count);
  return N == 4 ? scatter_masked_4(to, from, count) : scatter_masked_8(to, from, count);
}

#else

std::size_t stream_lines(std::byte*, const std::byte*, std::size_t) { return 0; }
template <std::size_t N>
std::size_t gather_lines(std::byte*, const std::byte*, std::size_t) {
  return 0;
}
template <std::size_t N>
std::size_t scatter_lines(std::byte*, const std::byte*, std::size_t) {
  return 0;
}

#endif

template <std::size_t N>
void gather_all(std::byte* to, const std::byte* from, std::size_t count) {
  const std::size_t done = gather_lines<N>(to, from, count);
  gather_plain<N>(to + done * N, from + done * 2 * N, count - done);
}
template <std::size_t N>
void scatter_all(std::byte* to, const std::byte* from, std::size_t count) {
  const std::size_t done = scatter_lines<N>(to, from, count);
  scatter_plain<N>(to + done * 2 * N, from + done * N, count - done);
}

}  // namespace

void pack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                      std::size_t count) {
  itemsize == 4 ? gather_all<4>(to, from, count) : gather_all<8>(to, from, count);
}
void unpack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                        std::size_t count) {
  itemsize == 4 ? scatter_all<4>(to, from, count) : scatter_all<8>(to, from, count);
}

void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % line;
  const std::size_t head = std::min(bytes, past == 0 ? 0 : line - past);
  std::memcpy(to, from, head);
  const std::size_t done = head + stream_lines(to + head, from + head, bytes - head);
  std::memcpy(to + done, from + done, bytes - done);
}

void fence_stores() {
#ifdef __x86_64__
  _mm_sfence();
#endif
}

}  // namespace quarry::memory
