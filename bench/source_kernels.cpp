// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the program's own source: what a launch costs beside one by the driver alone, and what
// it costs to have a kernel that was compiled before.
#include <quarry/array/module.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bare_launch.hpp"
#include "child.hpp"
#include "device.hpp"
#include "scratch_directory.hpp"

namespace {

using namespace bench;

constexpr const char* add_source = R"(
extern "C" __global__ void add(float* a, float x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += x;
})";

constexpr int small = 1024;

/// The same PTX, launched by the library, as `launch_of(kernel)` does, and by the driver in turn.
/// Nothing is added, so that the result says whether every launch was right.
template <class LaunchOf>
void launch_beside_driver(Run& run, LaunchOf launch_of) {
  const std::string ptx = qy::compile_ptx_for_current_device(add_source);
  const qy::Function add = qy::module_from_buffer(ptx).function("add");
  const auto launch = launch_of(add);
  const BareKernel bare(ptx.c_str(), "add");
  const auto a = random_array<float>(0, small);
  void* address = a.device_pointer();
  float nothing = 0;
  int n = small;
  void* parameters[] = {&address, &nothing, &n};
  run.size = std::to_string(small);
  run.issue_beside([&] { launch(a); }, [&] { bare(4, 256, parameters); },
                   [] { qy::synchronize(); });
  add.launch({.grid = 4, .block = 256}, a, 1.f, small);
  check(
      a, [](std::int64_t i) { return uniform(0, i) + 1; }, 1e-6);
}

void prepared_launch(Run& run) {
  launch_beside_driver(run, [](const qy::Function& add) {
    return [prepared = add.prepare<float*, float, int>()](const Array<float>& a) {
      prepared.prepared_call(4, 256, a, 0.f, small);
    };
  });
}

void plain_launch(Run& run) {
  launch_beside_driver(run, [](const qy::Function& add) {
    return [&add](const Array<float>& a) { add.launch({.grid = 4, .block = 256}, a, 0.f, small); };
  });
}

constexpr int many = 1000;

std::string source_of(int k) {
  return "extern \"C\" __global__ void kernel_" + std::to_string(k) +
         "(float* a, int n) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) a[i] = a[i] * a[i] + " +
         std::to_string(k) + ";\n}\n";
}

/// Seconds for a kernel, of 1,000 that are all in the cache on disk. `use` gets the source and
/// where the cache is.
template <class Use>
void from_disk(Run& run, const std::string& arch, Use use) {
  const ScratchDirectory scratch;
  const std::string cache = scratch.path / "cache";
  const auto options = [&] { return qy::CompileOptions{.arch = arch, .cache_dir = cache}; };
  for (int k = 0; k < many; ++k) use(k, source_of(k), options());
  run.size = std::to_string(many) + " kernels";
  run.sample(
      [&] {
        return timed([&] {
                 for (int k = 0; k < many; ++k) use(k, source_of(k), options());
               }) /
               many;
      },
      1);
}

/// The machine code alone, without a GPU.
void code_from_disk(Run& run) {
  from_disk(run, "sm_90", [](int k, const std::string& source, const qy::CompileOptions& options) {
    const std::string code = qy::compile_cubin(source, options);
    if (code.find("kernel_" + std::to_string(k)) == code.npos)
      throw std::runtime_error("wrong code");
  });
}

/// Until the kernel can be launched.
void kernel_from_disk(Run& run) {
  from_disk(run, "", [](int k, const std::string& source, const qy::CompileOptions& options) {
    qy::compile(source, options).function("kernel_" + std::to_string(k));
  });
}

constexpr const char* child_variable = "QUARRY_BENCH_SOURCE_MODULE";

/// In a fresh process with a context: seconds until the first kernel of a source can be launched.
int time_source_module() {
  const qy::Context context = qy::require_context();
  std::printf("%.9g\n", timed([] {
                qy::SourceModule(
                    "__global__ void doublify(float* a) {\n"
                    "  a[threadIdx.x + threadIdx.y * 4] *= 2;\n}\n")
                    .get_function("doublify");
              }));
  return 0;
}

void first_source(Run& run) {
  run.size = "empty cache";
  run.sample(
      [] {
        const ScratchDirectory cache;
        return std::stod(output_of_child(child_variable, cache.path));
      },
      0);
}

void register_rows() {
  if (qy::nvrtc_version().first > 0) row("quarry/code_from_disk", code_from_disk);
  if (qy::get_current_device().is_cpu()) return;
  row("quarry/prepared_launch", prepared_launch);
  row("quarry/source_launch", plain_launch);
  row("quarry/first_source", first_source);
  row("quarry/source_from_disk", kernel_from_disk);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(child_variable)) return time_source_module();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_rows();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
