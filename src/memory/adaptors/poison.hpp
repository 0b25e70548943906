// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define QUARRY_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUARRY_HAS_ASAN 1
#endif
#endif

#ifdef QUARRY_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

/// In builds with AddressSanitizer: marks memory as inaccessible, so that a pool does not hide
/// errors that the sanitizer finds without one. Nothing in other builds.
namespace quarry::memory {

#ifdef QUARRY_HAS_ASAN
constexpr bool can_poison = true;
inline void poison(const void* memory, std::size_t bytes) {
  __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const void* memory, std::size_t bytes) {
  __asan_unpoison_memory_region(memory, bytes);
}
#else
constexpr bool can_poison = false;
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
#endif

}  // namespace quarry::memory
