// SPDX-License-Identifier: BSD-3-Clause
#include "memory/exhaustion/host_programs.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/memory/statistics.hpp>
#include <quarry/memory/tracking.hpp>
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include "memory/counted.hpp"

namespace quarry::test {
namespace {

constexpr std::int64_t rows = 24, columns = 40;
using Array = DeviceNDArray<std::int64_t>;

const Values& host() {
  static const Values values = counting(rows * columns);
  return values;
}
std::size_t at(std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(row * columns + column);
}

Array plane() { return to_device(host()).reshape({rows, columns}); }

/// The end of what a stream does with memory of the host that a failed program drops.
struct Awaited {
  explicit Awaited(const Stream& s) : stream(s) {}
  ~Awaited() {
    try {
      stream.synchronize();
    } catch (...) {
    }
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  const Stream& stream;
};

/// Work that is not done when the next calls are made.
void keep_busy(const Stream& stream) {
  stream.add_callback(
      [](const Stream&) { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
}

// --- arrays

bool creates() {
  const auto a = zeros<std::int64_t>({rows, columns});
  const auto b = full<std::int64_t>({columns}, 7);
  const auto c = device_array_like(b);
  c.assign(b);
  return values(a) == Values(host().size(), 0) && values(c) == Values(columns, 7);
}

bool uploads() {
  const auto staged = to_device(host());
  const auto small = to_device(std::span(host()).first(20));
  const auto converted = to_device<double>(host());
  return values(staged) == host() && values(small)[19] == 19 &&
         values(converted.copy().astype<std::int64_t>()) == host();
}

bool copies_strided() {
  const auto a = zeros<std::int64_t>({2 * rows, columns});
  a(range(_, _, 2)).copy_to_device(host());
  const auto few = a(range(0, 2), range(0, 10));
  const Values seen = values(a), turned = values(a.transpose()), thin = values(few.transpose());
  return seen[at(1, 3)] == 0 && seen[at(4, 3)] == host()[at(2, 3)] && turned[4] == 2 * columns &&
         thin[2] == 1;
}

bool evaluates() {
  const auto a = to_device(host());
  a.assign(a(range(_, _, -1)) + a);  // through a temporary
  const Array b = (a + 1) * a - a;
  const Array turned = plane().transpose() * 2;
  const std::int64_t n = host().back();
  return values(b) == Values(host().size(), n * n) && values(turned)[1] == 2 * columns;
}

bool reduces() {
  const auto a = plane();
  const auto n = static_cast<std::int64_t>(host().size());
  const Values by_row = values(sum(a, 1)), largest = values(max(a.transpose() + 1, 1));
  return sum(a).item() == n * (n - 1) / 2 && largest[0] == n - columns + 1 &&
         by_row[1] == columns * columns + columns * (columns - 1) / 2;
}

bool reshapes() {
  const auto a = plane();
  const auto b = a.transpose().reshape({-1});
  const auto c = a(range(_, _, 2)).copy();
  return values(b)[1] == columns && values(c)[columns] == 2 * columns;
}

bool crosses_devices() {
  const auto a = plane();
  const auto cpu = to_device(a, Device::cpu());
  const auto there = to_device(cpu.transpose(), Device());
  return values(there)[1] == columns;
}

bool prints() {
  std::ostringstream out;
  out << plane()(range(0, 2), range(0, 3)) << to_string(plane().shape());
  if (!out) throw std::bad_alloc();  // streams keep what their buffers throw to themselves
  return out.str() == "[[ 0  1  2]\n [40 41 42]](24, 40)";
}

bool saves_and_loads() {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("quarry-" + std::to_string(getpid()) + ".npy"))
          .string();
  save_npy(path, plane());
  const auto a = to_device(load_npy<std::int64_t>(path));
  std::filesystem::remove(path);
  return values(a) == host();
}

// --- streams

bool copies_in_streams() {
  Values seen(host().size()), again(host().size());
  const Stream s = stream({.non_blocking = true}), t = stream();
  const Awaited first(s), second(t);
  const auto a = to_device(host(), s);
  s.record().wait(t);
  const Array b = a.bind(t) + 1;
  b.copy_to_host(seen, t);
  b.copy_to_host(again, t);
  t.synchronize();
  return seen[5] == 6 && seen.back() == host().back() + 1 && again == seen;
}

/// Memory that several streams use is dropped while they are at work, and taken again.
bool shares_between_streams() {
  Values seen(host().size());
  const Stream s = stream(), t = stream({.non_blocking = true});
  const Awaited first(s), second(t);
  for (int i = 0; i < 2; ++i) {
    const auto a = full<std::int64_t>({columns}, i, {.stream = s});
    keep_busy(s);
    s.record().wait(t);
    const Array b = a.bind(t) + i;
  }
  const auto c = to_device(host(), s);
  s.record().wait(t);
  c.copy_to_host(seen, t);
  trim_pool(Device());
  t.synchronize();
  return seen == host();
}

/// Reductions whose partial results take memory on the threads of their streams.
bool reduces_in_streams() {
  const Stream s = stream({.non_blocking = true}), t = stream();
  const Awaited first(s), second(t);
  const auto a = full<std::int64_t>({8192, 5}, 1, {.stream = s});
  s.record().wait(t);
  Values totals;
  for (const Stream& each : {s, t}) {
    const StreamGuard guard(each);
    const auto sums = sum(a, 0), largest = max(a * 3, 0);
    const auto product = prod(a.transpose() + 0, 1);
    for (const auto& found : {sums, largest, product}) totals.push_back(values(found).back());
  }
  const StreamGuard guard(s);
  return totals == Values{8192, 3, 1, 8192, 3, 1} && sum(a * 2).item() == 2 * 5 * 8192;
}

/// More chunks than buffers, which the copy threads pack and unpack.
bool copies_in_chunks() {
  constexpr std::int64_t n = 12'000;
  static const Values from = counting(n);
  Values turned(from.size()), queued(from.size());
  const Stream s = stream({.non_blocking = true});
  const Awaited done(s);
  const auto wide = zeros<std::int64_t>({2 * n}, {.stream = s});
  const auto every_other = wide(range(_, _, 2));
  every_other.copy_to_device(from);
  const auto backwards = every_other(range(_, _, -1));
  backwards.copy_to_host(turned);
  wide(range(_, n)).copy_to_host(queued, s);
  const Values waited = values(every_other);
  s.synchronize();
  return waited == from && turned.front() == n - 1 && turned.back() == 0 && queued[2] == 1 &&
         queued[3] == 0 && queued[n - 2] == n / 2 - 1;
}

/// What a callback throws comes out of synchronize().
bool allocates_in_callbacks() {
  const Stream s = stream();
  Values seen;
  const Awaited done(s);
  for (std::int64_t i = 1; i < 4; ++i) {
    s.add_callback([&seen, i](const Stream&) { seen = counting(100 * i); });
  }
  s.synchronize();
  return seen == counting(300);
}

bool calls_back() {
  const Stream s = stream({.priority = -1});
  int calls = 0;
  const Awaited done(s);
  Event begin, end;
  begin.record(s);
  for (int i = 0; i < 3; ++i) s.add_callback([&](const Stream&) { ++calls; });
  end.record(s);
  auto future = s.async_done();
  s.wait_event(end);
  default_stream().add_callback([](const Stream&) {});
  default_stream().synchronize();
  {
    const StreamGuard guard(s);
    const auto synchronized = s.auto_synchronize();
  }
  return future.get() == s && calls == 3 && end.query() && end.time_since(begin) >= 0;
}

bool copies_per_thread() {
  const Stream s = per_thread_default_stream();
  Values seen(host().size());
  const Awaited done(s);
  const auto a = to_device(host(), s);
  const Array b = a * 2;
  b.copy_to_host(seen, s);
  s.synchronize();
  return seen[3] == 6;
}

// --- memory

bool copies_page_locked() {
  using Pinned = std::vector<std::int64_t, PinnedAllocator<std::int64_t>>;
  const Stream s = stream({.non_blocking = true});
  const Pinned from(host().begin(), host().end());
  Pinned to(from.size());
  const Array a(Shape{rows * columns}, s);
  a.copy_to_device(from, s);
  a.copy_to_host(to, s);
  { const Pinned dropped(from), empty; }
  s.synchronize();
  return from == to;
}

bool registers() {
  Values a = host(), b(a.size()), c(2 * columns);
  const Stream s = stream({.non_blocking = true});
  {
    const auto scope = pinned(a, b);
    const RegisteredHostMemory half(c.data(), columns * sizeof(c[0]));
    const RegisteredHostMemory all(c.data(), c.size() * sizeof(c[0]), {.mapped = true});
    const auto d = to_device(a, s);
    d.copy_to_host(b, s);
    d(range(0, columns)).copy_to_host(std::span(c).first(columns), s);
  }
  return a == b && c[5] == 5;
}

bool maps() {
  Values a = host();
  {
    const Stream s = stream();
    const auto seen = mapped(s, a);
    seen.assign(seen + 1);
    const auto own = mapped_array<std::int64_t>({rows, columns}, {.stream = s});
    const auto combined = mapped_array<std::int64_t>({columns}, {.wc = true});
    own(all).assign(seen.reshape({rows, columns}));
    combined.bind(s).fill(3);
    s.synchronize();
    if (own.at(1, 1) != columns + 2) return false;
  }
  return a[0] == 1;
}

bool manages() {
  const Stream s = stream();
  const auto a = managed_zeros<std::int64_t>({rows, columns});
  const auto b = managed_array<std::int64_t>({columns}, {.stream = s, .attach_global = false});
  a.attach(Attach::single, s);
  b.attach(Attach::single, s);
  b.bind(s).fill(2);
  a.bind(s)(all).assign(b + 1);
  s.synchronize();
  return a.at(3, 3) == 3;
}

bool pools() {
  const Stream s = stream(), t = stream({.non_blocking = true});
  const Statistics counted{Tracking(device_resource())};
  Pool pool(counted, {.limit = std::size_t{6} << 20});  // no chunk of 32 MiB
  const auto callback = pool.on_pressure([](std::size_t, int) { return false; });
  const ResourceGuard guard(pool);
  {
    std::vector<Array> held;
    for (std::int64_t n = 1; n < 4; ++n) held.emplace_back(Shape{n * 1000}, s);
    held.emplace_back(Shape{rows}, t);
    held.front().bind(t).fill(1);
    const Array large(Shape{(1 << 17) + 1}, t);
    keep_busy(t);
    held.front().bind(t).fill(2);
    large.bind(s).fill(3);
    pool.trim();
  }
  const Array again(Shape{1000}, s);
  pool.trim();
  bool is_refused = false;
  try {
    const Array too_large(Shape{1 << 26}, s);
  } catch (const MemoryError&) {
    is_refused = true;
  }
  const auto now = pool.statistics();
  return is_refused && now.active_bytes > 0 && now.peak_active_bytes >= now.active_bytes &&
         counted.statistics().allocations.total > 1;
}

bool pools_blocks() {
  DeviceMemoryPool device;
  PageLockedMemoryPool page_locked;
  const Stream s = stream();
  auto a = device.allocate(1000, s);
  auto b = device.allocate(2000);
  auto c = page_locked.allocate(3000);
  b.free();
  { const auto d = device.allocate(1900); }
  std::fill_n(c.data(), 1000, std::byte{5});
  memcpy_htod_async(a, std::span(c.data(), 1000), s);
  c.free();
  s.synchronize();
  device.free_held();
  page_locked.stop_holding();
  return device.active_blocks() == 1 && page_locked.held_blocks() == 0;
}

// --- kernels

/// The second GPU forgets its kernels; the files of the cache stay.
void forget_kernels() { Device::cuda(1).reset(); }

void forget_files_too() {
  forget_kernels();
  for (const auto& file : std::filesystem::directory_iterator(kernel_cache_info().path)) {
    std::filesystem::remove(file);
  }
}

bool needs_kernels() {
  const DeviceGuard guard(Device::cuda(1));
  const auto a = full<std::int64_t>({columns}, 3);
  const Array b = a * a - 2;
  return values(b) == Values(columns, 7);
}

}  // namespace

std::vector<Program> host_programs() {
  return {{"Creates", creates},
          {"Uploads", uploads},
          {"CopiesStrided", copies_strided},
          {"Evaluates", evaluates},
          {"Reduces", reduces},
          {"Reshapes", reshapes},
          {"CrossesDevices", crosses_devices},
          {"Prints", prints},
          {"SavesAndLoads", saves_and_loads},
          {"CopiesInStreams", copies_in_streams},
          {"SharesBetweenStreams", shares_between_streams},
          {"ReducesInStreams", reduces_in_streams},
          {"CopiesInChunks", copies_in_chunks},
          {"AllocatesInCallbacks", allocates_in_callbacks},
          {"CallsBack", calls_back},
          {"CopiesPerThread", copies_per_thread},
          {"CopiesPageLocked", copies_page_locked},
          {"Registers", registers},
          {"Maps", maps},
          {"Manages", manages},
          {"Pools", pools},
          {"PoolsBlocks", pools_blocks},
          {"LoadsKernels", needs_kernels, forget_kernels},
          {"CompilesKernels", needs_kernels, forget_files_too}};
}

}  // namespace quarry::test
