// SPDX-License-Identifier: BSD-3-Clause
// Quarry's pool beside the driver's pool and plain driver calls, with the workloads of
// tools/workloads.hpp. The driver pool's rows are the limits of the pool's.
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/runtime/device.hpp>

#include <algorithm>
#include <thread>

#include "run.hpp"
#include "tools/workloads.hpp"

namespace {

using namespace bench;

void register_rows(const Workload& workload, const Candidate& candidate, const std::string& who) {
  if (candidate.slow && !workload.for_slow) return;
  row(who + workload.name, [=](Run& run) {
    run.size = "a " + workload.per;
    const Sample sample = workload.prepare(candidate);
    run.sample(sample);
    candidate.resource.trim();
  });
}

void register_workloads(const quarry::Device& device) {
  WorkloadOptions options{.quick = true};
  if (device.is_cpu()) options.most_bytes = std::size_t{32} << 20;
  options.most_threads =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, options.most_threads);
  const Candidate pool{"pool", quarry::Pool(quarry::device_resource(device))};
  const Candidate plain{"device", quarry::device_resource(device), !device.is_cpu()};
  for (const Workload& workload : allocation_workloads(options)) {
    register_rows(workload, pool, "quarry/");
    register_rows(workload, plain, "device/");
    if (device.is_cpu()) continue;
    register_rows(workload, {"driver_pool", quarry::driver_pool_resource(device)},
                  "limit/driver_pool_");
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_workloads(quarry::get_current_device());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
