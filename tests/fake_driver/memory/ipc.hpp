// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "fake_driver/memory/arena.hpp"

/// Other processes' memory that this one has opened.
namespace quarry::fake {

class Imports {
 public:
  /// The same address for the same block, with a count.
  CUresult open(const SharedBlock& block, CUdeviceptr* out);
  CUresult close(CUdeviceptr address);
  void forget(int device);

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::uint64_t, std::uint64_t>;
  struct Import {
    CUdeviceptr address = 0;
    int device = 0, count = 0;
  };
  std::mutex mutex_;
  std::map<Key, Import> imports_;
};

}  // namespace quarry::fake
