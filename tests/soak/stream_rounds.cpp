// SPDX-License-Identifier: BSD-3-Clause
#include "soak/stream_rounds.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <quarry/memory/host_memory.hpp>
#include <quarry/quarry.hpp>

namespace quarry::soak {
namespace {

constexpr std::int64_t count = 1000;
constexpr std::uint64_t checked = 64;  ///< one round of so many

void check(const DeviceNDArray<float>& array, float element, std::uint64_t round) {
  if (round % checked != 0) return;
  const float found = sum(array).item(), expected = element * static_cast<float>(count);
  if (found == expected) return;
  throw std::runtime_error(fmt::format("a sum is {} instead of {}", found, expected));
}

void read(const DeviceNDArray<float>& lasting, const Stream& stream, std::uint64_t round) {
  const StreamGuard guard(stream);
  const DeviceNDArray<float> y = lasting * 2.f;
  stream.synchronize();
  check(y, 2, round);
}

Round reading(bool on_a_thread) {
  const auto lasting = ones<float>({count});
  if (!on_a_thread) return [=](std::uint64_t round) { read(lasting, stream(), round); };
  return [=](std::uint64_t round) {
    std::exception_ptr error;
    std::thread([&] {
      try {
        read(lasting, per_thread_default_stream(), round);
        read(lasting, stream(), round);
      } catch (...) {
        error = std::current_exception();
      }
    }).join();
    if (error) std::rethrow_exception(error);
  };
}

Round uploading() {
  using PageLocked = std::vector<float, PinnedAllocator<float>>;
  const auto source = std::make_shared<const PageLocked>(count, 3.f);
  return [source](std::uint64_t round) {
    const Stream s = stream();
    const auto to = to_device(std::span(*source), s);
    s.synchronize();
    check(to, 3, round);
  };
}

}  // namespace

Round stream_round(std::string_view name) {
  if (name == "array") return reading(false);
  if (name == "thread") return reading(true);
  if (name == "page_locked") return uploading();
  throw std::invalid_argument(
      fmt::format("--streams {}: there are array, page_locked and thread", name));
}

}  // namespace quarry::soak
