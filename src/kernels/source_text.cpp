// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/source_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <quarry/base/error.hpp>
#include <quarry/kernels/user_function.hpp>

namespace quarry::kernels {

bool is_identifier(std::string_view name) {
  const bool begins_with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return !name.empty() && !begins_with_digit &&
         std::ranges::all_of(name, [](char c) { return text::is_name_character(c); });
}

void require_kernel_name(std::string_view name) {
  require<LogicError>(is_identifier(name), [&] {
    return fmt::format("the name of a kernel is a C++ identifier, not \"{}\"", name);
  });
}

const void* source_text::on_host() const {
  const void* const found = host.load();
  require<LogicError>(found != nullptr,
                      [&] { return fmt::format("{} is source for GPUs, not for the host", name); });
  return found;
}

const source_text& text_of(std::string_view name, std::string_view preamble,
                           std::string_view members) {
  require_kernel_name(name);
  using Key = std::tuple<std::string, std::string, std::string>;
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<Key, source_text>;  // outlives every kernel
  const std::lock_guard lock(mutex);
  return all.try_emplace(Key(name, preamble, members), name, preamble, members).first->second;
}

std::string with_lines(std::string_view what, std::string_view name, std::string_view source) {
  if (source.empty()) return {};
  return fmt::format("\n#line 1 \"{}{}\"\n{}\n", what, name, source);
}

}  // namespace quarry::kernels
