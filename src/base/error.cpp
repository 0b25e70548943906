// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace quarry {
namespace {

std::string text_of(const std::string& where, const MemoryReport& r) {
  std::string text = fmt::format("no memory for {} bytes from {}", r.requested, where);
  std::string figures;
  const auto add = [&](const std::string& part) {
    figures += (figures.empty() ? ": " : ", ") + part;
  };
  if (r.live || r.cached) {
    add(fmt::format("{} bytes are in use, {} cached (the largest piece is {})", r.live, r.cached,
                    r.largest_free));
  }
  if (r.limit && r.limit != std::numeric_limits<std::size_t>::max()) {
    add(fmt::format("the limit is {}", r.limit));
  }
  if (r.device_total) {
    add(fmt::format("the device has {} of {} free", r.device_free, r.device_total));
  }
  return text + figures;
}

}  // namespace

MemoryError::MemoryError(const std::string& where, const MemoryReport& report)
    : Error(text_of(where, report)), report_(report) {}

CompileError::CompileError(const std::string& message, std::string source, std::string log,
                           std::string options)
    : Error(log.empty() ? message : message + "\n" + log),
      message_(message),
      source_(std::move(source)),
      log_(std::move(log)),
      options_(std::move(options)) {}

}  // namespace quarry
