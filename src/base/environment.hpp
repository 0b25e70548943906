// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

/// Environment variables. An empty one counts as not set; in a set-user-id program all do. An
/// invalid value throws LogicError with the variable's name, its value and the valid values.
namespace quarry::environment {

/// Nothing where the variable is not set.
std::optional<std::string> text(const char* name);
/// A whole number from `least` on.
std::optional<std::int64_t> number(const char* name, std::int64_t least);
/// One of these.
std::optional<std::string> choice(const char* name,
                                  std::initializer_list<std::string_view> choices);

/// Throws for the first of the library's variables with an invalid value; called at the first use
/// of the library, so that invalid values of unused variables are reported too.
void require_sound();

// The values of the variables.
std::optional<int> threads();               ///< QUARRY_NUM_THREADS
std::string memory();                       ///< QUARRY_MEMORY: pool, driver_pool, device
bool logs_transfers();                      ///< QUARRY_LOG
std::optional<std::int64_t> cache_bytes();  ///< QUARRY_CACHE_SIZE
bool has_disk_cache();                      ///< not QUARRY_DISABLE_CACHE
bool is_checked();                          ///< QUARRY_CHECK
bool shows_operations();                    ///< QUARRY_NVTX

}  // namespace quarry::environment
