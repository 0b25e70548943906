// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include <quarry/base/error.hpp>

namespace quarry::environment {

std::optional<std::string> text(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::int64_t> number(const char* name, std::int64_t least) {
  const std::optional<std::string> given = text(name);
  if (!given) return std::nullopt;
  std::int64_t value = 0;
  const char* const last = given->data() + given->size();
  const auto [end, error] = std::from_chars(given->data(), last, value);
  require<LogicError>(error == std::errc() && end == last && value >= least, [&] {
    return fmt::format("{}: \"{}\" is not a whole number from {} to {}", name, *given, least,
                       std::numeric_limits<std::int64_t>::max());
  });
  return value;
}

std::optional<std::string> choice(const char* name,
                                  std::initializer_list<std::string_view> choices) {
  std::optional<std::string> given = text(name);
  require<LogicError>(!given || std::ranges::count(choices, *given) > 0, [&] {
    return fmt::format("{}: \"{}\"; the choices are {}", name, *given, fmt::join(choices, ", "));
  });
  return given;
}

std::optional<int> threads() {
  const auto value = number("QUARRY_NUM_THREADS", 1);
  if (!value) return std::nullopt;
  return static_cast<int>(std::min<std::int64_t>(*value, std::numeric_limits<int>::max()));
}

std::string memory() {
  return choice("QUARRY_MEMORY", {"pool", "driver_pool", "device"}).value_or("pool");
}

bool logs_transfers() { return choice("QUARRY_LOG", {"transfer"}).has_value(); }

std::optional<std::int64_t> cache_bytes() { return number("QUARRY_CACHE_SIZE", 0); }

bool is_checked() { return choice("QUARRY_CHECK", {"0", "1"}) == "1"; }
bool shows_operations() { return choice("QUARRY_NVTX", {"0", "1"}) == "1"; }
bool has_disk_cache() { return choice("QUARRY_DISABLE_CACHE", {"0", "1"}) != "1"; }

void require_sound() {
  [[maybe_unused]] static const bool is_sound = [] {
    threads();
    memory();
    logs_transfers();
    cache_bytes();
    has_disk_cache();
    is_checked();
    shows_operations();
    return true;
  }();
}

}  // namespace quarry::environment
