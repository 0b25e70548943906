// SPDX-License-Identifier: BSD-3-Clause
// Copies between host memory and the device, contiguous and strided, until they are done. Rows that
// begin with pinned_ have page-locked memory on the host, the others ordinary (pageable) memory.
#include <quarry/pinned.hpp>

#include <memory>

#include "backend/backend.hpp"
#include "device.hpp"
#include "tools/workloads.hpp"

namespace {

using namespace bench;

constexpr std::int64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

/// Host memory seen with strides (in elements), as xtensor's views are.
struct HostView {
  float* first;
  std::vector<std::int64_t> extents, steps;
  float* data() const { return first; }
  const std::vector<std::int64_t>& shape() const { return extents; }
  const std::vector<std::int64_t>& strides() const { return steps; }
  std::int64_t columns() const { return extents[1]; }
  std::int64_t size() const { return extents[0] * extents[1]; }
  /// Where the element at position `i` in C order is.
  std::int64_t place(std::int64_t i) const {
    return i / columns() * steps[0] + i % columns() * steps[1];
  }
};

/// Elements of the host, all of them written.
class HostMemory {
 public:
  template <class F>
  HostMemory(bool pinned, std::int64_t n, F value) {
    if (pinned) {
      auto array = std::make_shared<qy::PinnedArray<float>>(qy::pinned_array<float>({n}));
      data_ = {array, array->data()};
    } else {
      auto array = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n));
      data_ = {array, array->data()};
    }
    in_parts(n, [value, data = data_.get()](std::size_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = value(i);
    });
  }
  float* data() const { return data_.get(); }

 private:
  std::shared_ptr<float> data_;
};

HostMemory random_host(bool pinned, std::int64_t n) {
  return {pinned, n, [](std::int64_t i) { return uniform(0, i); }};
}
HostMemory poisoned_host(bool pinned, std::int64_t n) {
  return {pinned, n, [](std::int64_t) { return -1.f; }};
}

void declare(Run& run, std::int64_t bytes, const std::string& layout = "") {
  run.bytes = static_cast<double>(bytes);
  run.size = size_text(static_cast<std::size_t>(bytes)) + layout;
}

/// expected(i) for the element at position `i` in C order.
template <class F>
void check_host(const HostView& host, F expected) {
  for (std::int64_t i = 0; i < host.size(); i += host.size() / 65536 * 2 + 1)
    expect_near(host.first[host.place(i)], uniform(0, expected(i)), 0,
                "element " + std::to_string(i));
}

// --- contiguous
// -------------------------------------------------------------------------------------

void up(Run& run, std::int64_t bytes, bool pinned) {
  const HostMemory host = random_host(pinned, bytes / 4);
  const std::span<const float> from(host.data(), static_cast<std::size_t>(bytes / 4));
  const Array<float> array = poisoned<float>({bytes / 4});
  array.copy_to_device(from);
  check(
      array, [](std::int64_t i) { return uniform(0, i); }, 0);
  declare(run, bytes);
  run.call([&] { array.copy_to_device(from); });
}

void down(Run& run, std::int64_t bytes, bool pinned) {
  const Array<float> array = random_array<float>(0, bytes / 4);
  const HostMemory host = poisoned_host(pinned, bytes / 4);
  const std::span<float> to(host.data(), static_cast<std::size_t>(bytes / 4));
  array.copy_to_host(to);
  check_host({host.data(), {1, bytes / 4}, {bytes / 4, 1}}, [](std::int64_t i) { return i; });
  declare(run, bytes);
  run.call([&] { array.copy_to_host(to); });
}

/// Queued in a stream, then waited for.
void queued(Run& run, std::int64_t bytes, bool pinned, bool is_up) {
  const qy::Stream stream = qy::stream();
  const HostMemory host = random_host(pinned, bytes / 4);
  const std::span<float> span(host.data(), static_cast<std::size_t>(bytes / 4));
  const Array<float> array = random_array<float>(0, bytes / 4);
  declare(run, bytes);
  run.call([&] {
    if (is_up) {
      array.copy_to_device(span, stream);
    } else {
      array.copy_to_host(span, stream);
    }
    stream.synchronize();
  });
  check_host({host.data(), {1, bytes / 4}, {bytes / 4, 1}}, [](std::int64_t i) { return i; });
}

/// The time of queueing 4 KiB of page-locked memory.
void queueing(Run& run) {
  const qy::Stream stream = qy::stream();
  const HostMemory host = random_host(true, kib);
  const std::span<const float> from(host.data(), kib);
  const Array<float> array = poisoned<float>({kib});
  declare(run, 4 * kib);
  run.issue([&] { array.copy_to_device(from, stream); }, [&] { stream.synchronize(); });
  check(
      array, [](std::int64_t i) { return uniform(0, i); }, 0);
}

/// The device's own call, without what Quarry does around it.
void bare(Run& run, qy::backend::Direction direction) {
  constexpr std::int64_t bytes = 4 * kib;
  const Array<float> array = random_array<float>(0, bytes / 4);
  const HostMemory host = random_host(false, bytes / 4);
  const bool is_up = direction == qy::backend::Direction::host_to_device;
  void *const on_device = array.device_pointer(), *const on_host = host.data();
  const qy::backend::Copy copy{direction, is_up ? on_device : on_host, is_up ? on_host : on_device,
                               bytes};
  declare(run, bytes);
  run.call([&] { array.device().backend().copy(copy, nullptr, true); });
}

// --- strided
// ----------------------------------------------------------------------------------------

/// Matrices of 8192 x 8192 on a GPU.
std::int64_t matrix() { return side() / 2; }

enum class Pattern { strided, transposed, columns };

HostView seen(Pattern pattern, float* data) {
  const std::int64_t n = matrix();
  if (pattern == Pattern::strided) return {data, {n, n / 2}, {n, 2}};
  if (pattern == Pattern::transposed) return {data, {n, n}, {1, n}};
  return {data, {n, n / 8}, {n, 1}};
}
Array<float> seen(Pattern pattern, const Array<float>& m) {
  if (pattern == Pattern::strided) return m(qy::all, qy::range(qy::_, qy::_, 2));
  if (pattern == Pattern::transposed) return m.transpose();
  return m(qy::all, qy::range(matrix() / 8));
}
std::string text(Pattern pattern) {
  constexpr const char* texts[] = {"[:, ::2]", ".T", "[:, :n/8]"};
  return texts[static_cast<int>(pattern)];
}

void up_strided(Run& run, Pattern pattern, bool pinned) {
  const HostMemory host = random_host(pinned, matrix() * matrix());
  const HostView view = seen(pattern, host.data());
  const Array<float> array = poisoned<float>({view.extents[0], view.extents[1]});
  array.copy_to_device(view);
  check(
      array, [&](std::int64_t i) { return uniform(0, view.place(i)); }, 0);
  declare(run, 4 * view.size(), " h" + text(pattern));
  run.call([&] { array.copy_to_device(view); });
}

void down_strided(Run& run, Pattern pattern, bool pinned) {
  const std::int64_t n = matrix();
  const Array<float> part = seen(pattern, random_array<float>(0, n * n).reshape({n, n}));
  const HostMemory host = poisoned_host(pinned, part.size());
  const HostView from = seen(pattern, host.data()),
                 to{host.data(), from.extents, {from.columns(), 1}};
  part.copy_to_host(to);
  check_host(to, [&](std::int64_t i) { return from.place(i); });
  declare(run, 4 * part.size(), " d" + text(pattern));
  run.call([&] { part.copy_to_host(to); });
}

void down_into_strided(Run& run, Pattern pattern, bool pinned) {
  const HostMemory host = poisoned_host(pinned, matrix() * matrix());
  const HostView view = seen(pattern, host.data());
  const Array<float> array =
      random_array<float>(0, view.size()).reshape({view.extents[0], view.extents[1]});
  array.copy_to_host(view);
  check_host(view, [](std::int64_t i) { return i; });
  declare(run, 4 * view.size(), " h" + text(pattern));
  run.call([&] { array.copy_to_host(view); });
}

// --- the rows
// ---------------------------------------------------------------------------------------

void register_rows(const std::string& who, bool pinned) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"4KiB", 4 * kib}, {"1MiB", mib}, {"64MiB", 64 * mib}, {"1GiB", std::min(4 * large(), gib)}};
  for (const auto& [name, bytes] : sizes) {
    row(who + "h2d_" + name, [=, n = bytes](Run& run) { up(run, n, pinned); });
    row(who + "d2h_" + name, [=, n = bytes](Run& run) { down(run, n, pinned); });
  }
  row(who + "h2d_64MiB_queued", [=](Run& run) { queued(run, 64 * mib, pinned, true); });
  row(who + "d2h_64MiB_queued", [=](Run& run) { queued(run, 64 * mib, pinned, false); });
  const std::pair<const char*, Pattern> patterns[] = {{"strided", Pattern::strided},
                                                      {"transposed", Pattern::transposed},
                                                      {"columns", Pattern::columns}};
  for (const auto& [name, pattern] : patterns) {
    row(who + "h2d_" + name, [=, p = pattern](Run& run) { up_strided(run, p, pinned); });
    row(who + "d2h_" + name, [=, p = pattern](Run& run) { down_strided(run, p, pinned); });
    row(who + "d2h_into_" + name,
        [=, p = pattern](Run& run) { down_into_strided(run, p, pinned); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  row("limit/backend_h2d_4KiB",
      [](Run& run) { bare(run, qy::backend::Direction::host_to_device); });
  row("limit/backend_d2h_4KiB",
      [](Run& run) { bare(run, qy::backend::Direction::device_to_host); });
  register_rows("quarry/", false);
  if (!qy::get_current_device().is_cpu()) {
    register_rows("quarry/pinned_", true);
    row("quarry/pinned_h2d_4KiB_queueing", queueing);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
