// SPDX-License-Identifier: BSD-3-Clause
#include "backend/ledger.hpp"

#include <fmt/format.h>

namespace quarry::backend {
namespace {

struct Noun {
  const char *one, *many;
};
constexpr std::array<Noun, owned_kinds> nouns{
    {{"block of device memory", "blocks of device memory"},
     {"block of managed memory", "blocks of managed memory"},
     {"block of the driver's pool", "blocks of the driver's pool"},
     {"block of page-locked memory", "blocks of page-locked memory"},
     {"registration of host memory", "registrations of host memory"},
     {"block of another process", "blocks of another process"},
     {"CUDA array", "CUDA arrays"},
     {"stream", "streams"},
     {"event", "events"},
     {"module", "modules"},
     {"graph", "graphs"},
     {"texture or surface", "textures and surfaces"}}};

}  // namespace

std::string to_string(const Inventory& inventory) {
  std::string text;
  for (std::size_t kind = 0; kind < owned_kinds; ++kind) {
    const auto [count, bytes] = inventory.all[kind];
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count, count == 1 ? nouns[kind].one : nouns[kind].many);
    if (bytes > 0) text += fmt::format(" ({} bytes)", bytes);
  }
  return text.empty() ? "nothing" : text;
}

void Ledger::add(Owned kind, const void* handle, std::size_t bytes) {
  if (kind >= Owned::stream) {
    counter(kind).fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto at = static_cast<std::size_t>(kind);
  const std::lock_guard lock(mutex_);
  blocks_[at].insert_or_assign(handle, bytes);
  bytes_[at] += bytes;
}

void Ledger::remove(Owned kind, const void* handle) noexcept {
  if (!handle) return;
  if (kind >= Owned::stream) {
    counter(kind).fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  const auto at = static_cast<std::size_t>(kind);
  const std::lock_guard lock(mutex_);
  const auto found = blocks_[at].find(handle);
  if (found == blocks_[at].end()) return;
  bytes_[at] -= found->second;
  blocks_[at].erase(found);
}

Inventory Ledger::inventory() const {
  Inventory result;
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < known_kinds; ++at) {
    result.all[at] = {blocks_[at].size(), bytes_[at]};
  }
  for (std::size_t at = known_kinds; at < owned_kinds; ++at) {
    result.all[at].count = counters_[at - known_kinds].load(std::memory_order_relaxed);
  }
  return result;
}

}  // namespace quarry::backend
