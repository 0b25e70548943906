// SPDX-License-Identifier: BSD-3-Clause
// What an operation costs when there is hardly any data: queueing, allocation, and the first use of
// a kernel, which is measured in fresh processes.
#include <quarry/memory/graph.hpp>
#include <quarry/runtime/kernel_cache.hpp>

#include <filesystem>
#include <memory>
#include <sstream>

#include "bare_launch.hpp"
#include "child.hpp"
#include "device.hpp"
#include "scratch_directory.hpp"

namespace {

using namespace bench;

constexpr std::int64_t small = 1024;
constexpr const char* child_variable = "QUARRY_BENCH_CHILD";

void check_sum(const Array<float>& c) {
  check(
      c, [](std::int64_t i) { return uniform(0, i) + uniform(1, i); }, 1e-7);
}

/// In turn with launches of the driver alone, where there is one.
void issue(Run& run, auto work) {
  const auto wait = [] { qy::synchronize(); };
  if (qy::get_current_device().is_cpu()) return run.issue(work, wait);
  run.issue_beside(work, BareLaunch(), wait);
}

void launch_add(Run& run) {
  const auto a = random_array<float>(0, small), b = random_array<float>(1, small);
  Array<float> c = a + b;
  check_sum(c);
  run.size = std::to_string(small);
  issue(run, [&] { c = a + b; });
  check_sum(c);
}

void launch_add_into(Run& run) {
  const auto a = random_array<float>(0, small), b = random_array<float>(1, small);
  const Array<float> c = poisoned<float>({small});
  c(qy::all) = a + b;
  check_sum(c);
  run.size = std::to_string(small);
  issue(run, [&] { c(qy::all) = a + b; });
}

/// A graph of many small kernels, launched again and again: the time of one kernel.
void replayed(Run& run) {
  constexpr int kernels = 1000;
  const Array<float> a = random_array<float>(0, small), c = random_array<float>(1, small);
  const qy::Graph graph = qy::capture([&] {
    for (int i = 0; i < kernels; ++i) c(qy::all) = a + static_cast<float>(i);
  });
  graph();
  check(
      c, [](std::int64_t i) { return uniform(0, i) + kernels - 1; }, 1e-6);
  run.size = std::to_string(small);
  run.sample([&] { return time_on_device(graph) / kernels; });
}

void allocate_free(Run& run) {
  run.size = "1 KiB";
  run.issue([] { benchmark::DoNotOptimize(qy::device_array<float>({256}).device_pointer()); },
            [] { qy::synchronize(); });
}

/// A view of an array with three axes: nothing is queued.
template <class Make>
void view(Run& run, Make make) {
  const auto a = random_array<float>(0, 64 * 48 * 32).reshape({64, 48, 32});
  run.size = to_string(a.shape());
  run.issue([&] { benchmark::DoNotOptimize(make(a)); }, [] {});
}

/// In turn with launches by the driver alone that are waited for.
void issue_beside_waits(Run& run, auto work) {
  if (qy::get_current_device().is_cpu()) return run.issue(work, [] {});
  const BareLaunch launch;
  const auto launch_and_wait = [&] {
    launch();
    qy::synchronize();
  };
  run.issue_beside(work, launch_and_wait, [] {});
}

void read_by_mask(Run& run) {
  const auto a = random_array<float>(0, small);
  const Array<bool> mask = a > 0.5f;
  Array<float> kept = a(mask);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < small; ++i)
    if (uniform(0, i) > 0.5f) expected.push_back(uniform(0, i));
  check(
      kept, [&](std::int64_t i) { return expected.at(static_cast<std::size_t>(i)); }, 0);
  run.size = std::to_string(small);
  issue_beside_waits(run, [&] { kept = a(mask); });
}

void item_of_sum(Run& run) {
  const auto a = random_array<float>(0, small);
  double expected = 0;
  for (std::int64_t i = 0; i < small; ++i) expected += static_cast<double>(uniform(0, i));
  expect_near(static_cast<double>(qy::sum(a).item()), expected, 1e-3, "sum");
  run.size = std::to_string(small);
  issue_beside_waits(run, [&] { benchmark::DoNotOptimize(qy::sum(a).item()); });
}

// --- first use
// -------------------------------------------------------------------------------------

/// In a fresh process with a context and inputs: seconds for the first kernel and, on average, for
/// two more. Prints them and where the kernels came from.
int time_first_kernels() {
  const qy::Context context = qy::require_context();
  const auto a = random_array<float>(0, small), b = random_array<float>(1, small);
  const auto seconds = [&](auto work) {
    const auto start = Clock::now();
    work();
    context.synchronize();
    return seconds_since(start);
  };
  Array<float> x, y, z;
  const double first = seconds([&] { x = a * b + qy::sin(a) * 2.f - b; });
  const double second = seconds([&] { y = qy::sqrt(a) + qy::exp(b) * a; });
  const double third = seconds([&] { z = qy::where(a > b, a - b, b / 2.f); });
  check(
      x,
      [](std::int64_t i) {
        const double p = uniform(0, i), q = uniform(1, i);
        return p * q + std::sin(p) * 2 - q;
      },
      1e-6);
  const qy::KernelCacheStatistics kernels = qy::kernel_cache_statistics();
  std::printf("%.9g %.9g %lld %lld\n", first, (second + third) / 2,
              static_cast<long long>(kernels.compiled), static_cast<long long>(kernels.disk_hits));
  return 0;
}

struct FirstKernels {
  double first = 0, further = 0;
  long long compiled = 0, from_disk = 0;
};

FirstKernels child(const std::filesystem::path& cache) {
  FirstKernels result;
  const std::string output = output_of_child(child_variable, cache);
  if (std::sscanf(output.c_str(), "%lf %lf %lld %lld", &result.first, &result.further,
                  &result.compiled, &result.from_disk) != 4)
    throw std::runtime_error("the child process failed");
  return result;
}

void cold(Run& run, double FirstKernels::*seconds) {
  run.size = "empty cache";
  run.sample(
      [&] {
        const ScratchDirectory cache;
        const FirstKernels taken = child(cache.path);
        if (taken.compiled == 0) throw std::runtime_error("nothing was compiled");
        return taken.*seconds;
      },
      0);
}

void cached(Run& run) {
  const ScratchDirectory cache;
  child(cache.path);
  run.size = "from disk";
  run.sample(
      [&] {
        const FirstKernels taken = child(cache.path);
        if (taken.compiled != 0 || taken.from_disk == 0)
          throw std::runtime_error("not from the disk");
        return taken.further;
      },
      0);
}

void register_rows() {
  row("quarry/launch_add", launch_add);
  row("quarry/launch_add_into", launch_add_into);
  row("quarry/allocate_free", allocate_free);
  row("quarry/replayed", replayed);
  row("quarry/view_part", [](Run& run) {
    view(run, [](const auto& a) { return a(qy::range(1, 9), qy::range(1, 9), qy::range(1, 9)); });
  });
  row("quarry/view_reshape", [](Run& run) {
    view(run, [](const auto& a) { return a.reshape({64 * 48, 32}); });
  });
  row("quarry/view_transpose", [](Run& run) {
    view(run, [](const auto& a) { return a.transpose({2, 0, 1}); });
  });
  row("quarry/view_moveaxis",
      [](Run& run) { view(run, [](const auto& a) { return qy::moveaxis(a, 0, -1); }); });
  row("quarry/view_diagonal",
      [](Run& run) { view(run, [](const auto& a) { return qy::diagonal(a); }); });
  row("quarry/read_by_mask", read_by_mask);
  row("quarry/item_of_sum", item_of_sum);
  if (qy::get_current_device().is_cpu()) return;  // nothing is compiled there
  row("quarry/first_kernel", [](Run& run) { cold(run, &FirstKernels::first); });
  row("quarry/further_kernel", [](Run& run) { cold(run, &FirstKernels::further); });
  row("quarry/cached_kernel", cached);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(child_variable)) return time_first_kernels();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_rows();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
