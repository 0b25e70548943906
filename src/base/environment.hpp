// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

/// Environment variables. One that is empty is not set; a set-user-id program has none. What cannot
/// be understood is a LogicError with the variable's name, its value and what it may be.
namespace quarry::environment {

/// Nothing where the variable is not set.
std::optional<std::string> text(const char* name);
/// A whole number from `least` on.
std::optional<std::int64_t> number(const char* name, std::int64_t least);
/// One of these.
std::optional<std::string> choice(const char* name,
                                  std::initializer_list<std::string_view> choices);

/// Throws for the first of the library's variables that cannot be understood; to be called where
/// the library is used first, so that nonsense never passes because nobody asks.
void require_sound();

// What each variable says.
std::optional<int> threads();               ///< QUARRY_NUM_THREADS
std::string memory();                       ///< QUARRY_MEMORY: pool, driver_pool, device
bool logs_transfers();                      ///< QUARRY_LOG
std::optional<std::int64_t> cache_bytes();  ///< QUARRY_CACHE_SIZE
bool has_disk_cache();                      ///< not QUARRY_DISABLE_CACHE
bool is_checked();                          ///< QUARRY_CHECK

}  // namespace quarry::environment
