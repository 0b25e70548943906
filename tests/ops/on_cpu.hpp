// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include "backend/cpu/vectors.hpp"

namespace quarry::test {

/// Of the loops of the CPU device.
inline constexpr backend::cpu_backend::Vectors lengths[] = {
    backend::cpu_backend::Vectors::bytes_16, backend::cpu_backend::Vectors::bytes_32,
    backend::cpu_backend::Vectors::bytes_64};

/// Arrays are made on the CPU device, and vectors are not limited any more afterwards.
class OnCpu {
 public:
  OnCpu() : guard_(Device::cpu()) {}
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
  ~OnCpu() { backend::cpu_backend::limit_vectors(backend::cpu_backend::Vectors::bytes_64); }

 private:
  const DeviceGuard guard_;
};

}  // namespace quarry::test
