// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend::cuda {

namespace {

/// Whether the driver launches kernels before the work ahead of them is done, also while a stream
/// is captured.
bool has_early_launches() {
  static const bool has = [] {
    int version = 0;
    return driver().LaunchKernelEx && driver().DriverGetVersion(&version) == CUDA_SUCCESS &&
           version >= 12030;
  }();
  return has;
}

CUresult launch_early(CUfunction function, const Blocks& blocks, CUstream stream,
                      void** parameters) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = blocks.grid_x, config.gridDimY = blocks.grid_y, config.gridDimZ = 1;
  config.blockDimX = blocks.block_x, config.blockDimY = blocks.block_y, config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute, config.numAttrs = 1;
  return driver().LaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace

int Launcher::distinct_inputs() const {
  if (!sharing_) return call.program->inputs;
  int count = 0;
  for (std::size_t k = 0; k < sharing_->input.size(); ++k) count += sharing_->input[k] == k ? 1 : 0;
  return count;
}

const Kernel& Launcher::find(const Variant& variant) const {
  return kernel(*call.program, variant.with(sharing_, texts_), target_.kernels);
}

void Launcher::run_kernel(const Kernel& kernel, const Blocks& blocks, const void** parameters,
                          Start start) const {
  const auto stream = static_cast<CUstream>(target_.stream);
  void** const values = const_cast<void**>(parameters);
  if (target_.kernels.compute_capability.first < 9 || !has_early_launches()) start = Start::behind;
  if (start != Start::behind) {
    check_launch(launch_early(kernel.function, blocks, stream, values));
  } else {
    check_launch(driver().LaunchKernel(kernel.function, blocks.grid_x, blocks.grid_y, 1,
                                       blocks.block_x, blocks.block_y, 1, 0, stream, values,
                                       nullptr));
  }
  note_writes(start);
}

/// Of functions of the program's own nobody knows what they read, of graphs what runs before them.
int Launcher::order_in_stream() const {
  if (call.is_captured) return 0;
  RunningWrites& running = target_.running;
  if (!is_used_alone()) running.forget();
  if (!running.are_known()) return kernels::order_waits_first;
  const kernels::program& program = *call.program;
  if (!call.inputs_are_private || call.has_sides() || texts_) return 0;
  for (std::size_t k = static_cast<std::size_t>(program.outputs); k < call.operands.size(); ++k) {
    const AddressRange range =
        range_of(call.operands[k], call.shape, call.rank(), program.itemsize[k]);
    if (running.overlap(range)) return 0;
  }
  return kernels::order_reads_ahead;
}

/// Whether the call writes its outputs, along the kept axes, and the workspace alone.
bool Launcher::are_writes_known() const {
  const kernels::family kind = call.program->kind;
  const bool has_outputs_alone = kind == kernels::family::map || kind == kernels::family::reduce;
  return has_outputs_alone && !call.check && !call.has_sides() && !texts_;
}

void Launcher::note_writes(Start start) const {
  RunningWrites& running = target_.running;
  if (start != Start::early) running.begin_anew();
  if (call.is_captured || !is_used_alone() || !are_writes_known()) return running.forget();
  for (std::size_t k = 0; k < static_cast<std::size_t>(call.program->outputs); ++k) {
    running.add(range_of(call.operands[k], call.shape, call.kept_rank, call.program->itemsize[k]));
  }
  if (taken_.end != 0) running.add(taken_);
}

std::byte* Launcher::try_take(std::size_t bytes) const try {
  return take(bytes);
} catch (const MemoryError&) {
  return nullptr;
}

void Launcher::clear(void* memory, std::size_t bytes) const {
  target_.running.forget();
  check(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(memory), 0, bytes,
                               static_cast<CUstream>(target_.stream)));
}

void CudaDevice::launch(const KernelCall& call, Workspace& workspace, Stream stream) {
  static constexpr void (*families[])(const Launcher&) = {
#define QUARRY_FAMILY(name) launch_##name,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
  };
  std::uint64_t use;
  const auto current = context_.bind(use);
  RunningWrites& running = RunningWrites::of_thread();
  running.go_on(context_, stream, use);
  families[static_cast<std::size_t>(call.program->kind)](
      Launcher(call, workspace,
               {target(), multiprocessors_, cache_, maps_, stream, context_, use, running}));
}

}  // namespace quarry::backend::cuda
