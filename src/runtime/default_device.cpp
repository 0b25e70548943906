// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/default_device.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "backend/backend.hpp"
#include "base/environment.hpp"

namespace quarry {
namespace {

/// The first word of ~/.cuda-device, as PyCUDA reads it.
std::optional<std::string> device_file() {
  const auto home = environment::text("HOME");
  if (!home) return std::nullopt;
  std::ifstream file(*home + "/.cuda-device");
  std::string word;
  return file >> word ? std::optional(word) : std::nullopt;
}

/// A whole number of at most nine digits.
std::optional<int> parse_ordinal(const std::string& text) {
  int id = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id);
  return error == std::errc() && end == last ? std::optional(id) : std::nullopt;
}

}  // namespace

std::optional<int> runtime::parse_device_name(const std::string& text) {
  if (text == "cpu") return std::nullopt;
  if (text == "cuda") return 0;
  const auto id = text.starts_with("cuda:") ? parse_ordinal(text.substr(5)) : std::nullopt;
  require<LogicError>(id.has_value(), [&] {
    return fmt::format("\"{}\" is not a device; use cpu, cuda or cuda:N", text);
  });
  return id;
}

namespace {

std::optional<int> parse_device_variable(const std::string& text) {
  try {
    return runtime::parse_device_name(text);
  } catch (const LogicError& e) {
    throw LogicError(std::string("QUARRY_DEVICE: ") + e.what());
  }
}

/// A GPU that `source` names: an error if it cannot be used.
Device asked_for(const std::string& source, const std::string& text, std::optional<int> id) {
  const auto describe = [&](const std::string& why) {
    return fmt::format("{} asks for \"{}\": {}", source, text, why);
  };
  require<LogicError>(id.has_value(), [&] { return describe("that is not the number of a GPU"); });
  try {
    const Device device = Device::cuda(*id);
    device.backend().memory_info();  // a busy GPU cannot create a context
    return device;
  } catch (const IndexError& e) {
    if (*id < 0) throw LogicError(describe(e.what()));
    throw BackendUnavailable(describe(e.what()));
  } catch (const Error& e) {
    throw BackendUnavailable(describe(e.what()));
  }
}

/// The first GPU whose context can be created, else the CPU. Without NVRTC no GPU is chosen.
Device first_usable() {
  if (!is_available()) return Device::cpu();
  for (const auto& gpu : backend::cuda_devices()) {
    try {
      gpu->memory_info();
      return Device(*gpu);
    } catch (const Error&) {  // busy or exclusive: the next one may do
    }
  }
  return Device::cpu();
}

runtime::DefaultDevice find_default() {
  environment::require_sound();
  if (const auto text = environment::text("QUARRY_DEVICE")) {
    const auto id = parse_device_variable(*text);
    return {id ? asked_for("QUARRY_DEVICE", *text, id) : Device::cpu(), true};
  }
  if (const auto text = environment::text("CUDA_DEVICE")) {
    return {asked_for("CUDA_DEVICE", *text, parse_ordinal(*text)), true};
  }
  if (const auto text = device_file()) {
    return {asked_for("~/.cuda-device", *text, parse_ordinal(*text)), true};
  }
  return {first_usable(), false};
}

}  // namespace

const runtime::DefaultDevice& runtime::default_device() {
  static const DefaultDevice found = find_default();
  return found;
}

}  // namespace quarry
