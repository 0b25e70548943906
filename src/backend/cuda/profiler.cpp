// SPDX-License-Identifier: BSD-3-Clause
#include "backend/profiler.hpp"

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend {

void cuda::CudaDevice::set_profiling(bool is_on) {
  const auto call = is_on ? driver().ProfilerStart : driver().ProfilerStop;
  require<LogicError>(call != nullptr, "this driver has no cuProfilerStart and cuProfilerStop");
  const auto current = context_.bind();
  check(call());
}

void set_profiling(Device& device, bool is_on) {
  if (!device.info().is_cpu) static_cast<cuda::CudaDevice&>(device).set_profiling(is_on);
}

}  // namespace quarry::backend
