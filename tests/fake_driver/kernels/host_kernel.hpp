// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Kernels from source without a GPU: a test says which host function computes what the source of
/// that name does.
namespace quarry::fake {

/// A launch with its arguments as they were at the call.
struct HostLaunch {
  std::string kernel = {};
  int device = 0;
  std::array<unsigned, 3> grid{}, block{};
  unsigned shared = 0;
  std::array<unsigned, 3> cluster{1, 1, 1};
  bool cooperative = false;
  bool early = false;  ///< may begin before the work ahead of it is done
  std::vector<std::vector<std::byte>> arguments = {};

  std::int64_t threads() const {
    return std::int64_t{grid[0]} * grid[1] * grid[2] * block[0] * block[1] * block[2];
  }
  template <class T>
  T value(std::size_t k) const {
    T result;
    std::memcpy(&result, arguments[k].data(), sizeof result);
    return result;
  }
  /// `count` elements at the address that argument k is. Where the device cannot reach all of them
  /// that is a fault, and throws its result code, as the launch's.
  template <class T>
  std::span<T> memory(std::size_t k, std::size_t count) const {
    return {reinterpret_cast<T*>(find(value<CUdeviceptr>(k), count * sizeof(T))), count};
  }
  std::byte* find(CUdeviceptr address, std::size_t bytes) const;
  /// The element of the texture or surface that argument k is, at the edge for one beyond it. What
  /// is no live one is a fault, too.
  template <class T>
  T& texel(std::size_t k, std::size_t x, std::size_t y = 0, std::size_t z = 0) const {
    return *reinterpret_cast<T*>(find_texel(value<CUtexObject>(k), {x, y, z}, sizeof(T)));
  }
  std::byte* find_texel(CUtexObject object, const std::array<std::size_t, 3>& at,
                        std::size_t bytes) const;
};

struct HostKernel {
  std::vector<std::size_t> parameters;  ///< sizes
  std::function<void(const HostLaunch&)> run;
};
/// From now on, for the kernel of this name: of an extern "C" function, or a name expression.
void set_host_kernel(const std::string& name, HostKernel kernel);
std::optional<HostKernel> find_host_kernel(const std::string& name);

/// Runs it; its result code.
CUresult run_host_kernel(const HostKernel& kernel, const HostLaunch& launch);

// What the fake compiler sees in a source.

bool is_source_of_program(const std::string& source);
/// The names of the __global__ functions.
std::vector<std::string> kernels_in(const std::string& source);
/// The __constant__ and __device__ variables and their bytes.
std::map<std::string, std::size_t> variables_in(const std::string& source);

}  // namespace quarry::fake
