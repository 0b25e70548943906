// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_file.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include "backend/cuda/jit/digest.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::string_view magic = "QUARRYK1";
constexpr std::size_t sizes_at = 8, digest_at = 32, head_size = 64;
using Sizes = std::array<std::uint64_t, 3>;
static_assert(sizes_at + sizeof(Sizes) == digest_at);

std::string digest_of(std::string_view before, std::string_view after) {
  return Digest().add(before).add(after).hex();
}

/// The three sizes, if they are those of a file of this size.
std::optional<Sizes> sizes_of(std::string_view bytes) {
  Sizes sizes;
  std::memcpy(sizes.data(), bytes.data() + sizes_at, sizeof sizes);
  std::uint64_t total = head_size;
  for (const std::uint64_t size : sizes) {
    if (size > max_kernel_file) return std::nullopt;
    total += size;
  }
  return total == bytes.size() ? std::optional(sizes) : std::nullopt;
}

}  // namespace

std::string encode_kernel(std::string_view key, const Binary& binary) {
  const Sizes sizes{key.size(), binary.function.size(), binary.code.size()};
  std::string head(magic);
  head.append(reinterpret_cast<const char*>(sizes.data()), sizeof sizes);
  const std::string payload = std::string(key) + binary.function + binary.code;
  return head + digest_of(head, payload) + payload;
}

DecodedKernel decode_kernel(std::string_view bytes, std::string_view key) {
  if (bytes.size() < head_size || bytes.substr(0, sizes_at) != magic) return {};
  const std::optional<Sizes> sizes = sizes_of(bytes);
  const auto head = bytes.substr(0, digest_at), payload = bytes.substr(head_size);
  if (!sizes || digest_of(head, payload) != bytes.substr(digest_at, head_size - digest_at))
    return {};
  const auto [key_size, function_size, code_size] = *sizes;
  if (payload.substr(0, key_size) != key) return {true, std::nullopt};
  return {true, Binary{.code = std::string(payload.substr(key_size + function_size, code_size)),
                       .function = std::string(payload.substr(key_size, function_size))}};
}

}  // namespace quarry::backend::cuda
