// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend::cuda {

void Launcher::run_kernel(const Variant& variant, const Blocks& blocks,
                          const void** parameters) const {
  const CUfunction function = kernel(*call.program, variant.with(sharing_), target_.kernels);
  check_launch(driver().LaunchKernel(function, blocks.grid_x, blocks.grid_y, 1, blocks.block_x,
                                     blocks.block_y, 1, 0, static_cast<CUstream>(target_.stream),
                                     const_cast<void**>(parameters), nullptr));
}

void CudaDevice::launch(const KernelCall& call, Workspace& workspace, Stream stream) {
  static constexpr void (*families[])(const Launcher&) = {
#define QUARRY_FAMILY(name) launch_##name,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
  };
  const auto current = context_.bind();
  families[static_cast<std::size_t>(call.program->kind)](
      Launcher(call, workspace, {target(), multiprocessors_, maps_, stream}));
}

}  // namespace quarry::backend::cuda
