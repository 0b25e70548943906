// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "backend/cuda/jit/jit.hpp"

/// One file of the kernel cache as bytes:
///   "QUARRYK1"  key size  function size  code size  (64 bits each, little-endian)
///   32 hexadecimal digits of the digest of all other bytes
///   key  function  code
namespace quarry::backend::cuda {

inline constexpr std::size_t max_kernel_file = std::size_t{64} << 20;

std::string encode_kernel(std::string_view key, const Binary& binary);

/// The result of `decode_kernel`, which tells a damaged file from an intact one with another key.
struct DecodedKernel {
  bool is_sound = false;
  std::optional<Binary> binary;  ///< if the file has `key`
};
DecodedKernel decode_kernel(std::string_view bytes, std::string_view key);

}  // namespace quarry::backend::cuda
