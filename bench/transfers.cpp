// SPDX-License-Identifier: BSD-3-Clause
// Copies between ordinary (pageable) host memory and the device, contiguous and strided. All of
// them wait.
#include "device.hpp"

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
};

std::vector<float> random_host(std::int64_t n) {
  std::vector<float> host(static_cast<std::size_t>(n));
  in_parts(n, [&host](std::size_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) host[static_cast<std::size_t>(i)] = uniform(0, i);
  });
  return host;
}

void declare(Run& run, std::int64_t bytes) {
  run.bytes = static_cast<double>(bytes);
  run.size = bytes < mib   ? std::to_string(bytes / kib) + " KiB"
             : bytes < gib ? std::to_string(bytes / mib) + " MiB"
                           : std::to_string(bytes / gib) + " GiB";
}

void up(Run& run, std::int64_t bytes) {
  const std::vector<float> host = random_host(bytes / 4);
  const Array<float> array = poisoned<float>({bytes / 4});
  array.copy_to_device(host);
  check(
      array, [](std::int64_t i) { return uniform(0, i); }, 0);
  declare(run, bytes);
  run.call([&] { array.copy_to_device(host); });
}

void check_host(const HostView& host) {
  const std::int64_t rows = host.extents[0], columns = host.extents[1], n = rows * columns;
  for (std::int64_t i = 0; i < n; i += n / 65536 * 2 + 1)
    expect_near(host.first[i / columns * host.steps[0] + i % columns * host.steps[1]],
                uniform(0, i), 0, "element " + std::to_string(i));
}

void down(Run& run, std::int64_t bytes) {
  const Array<float> array = random_array<float>(0, bytes / 4);
  std::vector<float> host(static_cast<std::size_t>(bytes / 4), -1.f);
  array.copy_to_host(host);
  check_host({host.data(), {1, bytes / 4}, {bytes / 4, 1}});
  declare(run, bytes);
  run.call([&] { array.copy_to_host(host); });
}

/// The strided rows have matrices of 8192 x 8192 on a GPU.
std::int64_t matrix() { return side() / 2; }

void up_strided(Run& run, const std::vector<std::int64_t>& extents,
                const std::vector<std::int64_t>& steps, const char* size) {
  std::vector<float> host = random_host(matrix() * matrix());
  const HostView view{host.data(), extents, steps};
  const Array<float> array = poisoned<float>({extents[0], extents[1]});
  array.copy_to_device(view);
  const auto expected = [&](std::int64_t i) {
    return uniform(0, i / extents[1] * steps[0] + i % extents[1] * steps[1]);
  };
  check(array, expected, 0);
  declare(run, 4 * extents[0] * extents[1]);
  run.size += size;
  run.call([&] { array.copy_to_device(view); });
}

void down_strided(Run& run) {
  const std::int64_t n = matrix();
  const Array<float> array = random_array<float>(0, n * n).reshape({n, n});
  const Array<float> part = array(qy::all, qy::range(qy::_, qy::_, 2));
  std::vector<float> host(static_cast<std::size_t>(n * n / 2), -1.f);
  const HostView view{host.data(), {n, n / 2}, {n / 2, 1}};
  part.copy_to_host(view);
  for (std::int64_t i = 0; i < n * n / 2; i += n + 1)
    expect_near(host[static_cast<std::size_t>(i)], uniform(0, 2 * i), 0,
                "element " + std::to_string(i));
  declare(run, 2 * n * n);
  run.size += " d[:, ::2]";
  run.call([&] { part.copy_to_host(view); });
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/h2d_4KiB", [](Run& run) { up(run, 4 * kib); }),
    row("quarry/h2d_1MiB", [](Run& run) { up(run, mib); }),
    row("quarry/h2d_64MiB", [](Run& run) { up(run, 64 * mib); }),
    row("quarry/h2d_1GiB", [](Run& run) { up(run, std::min(4 * large(), gib)); }),
    row("quarry/d2h_4KiB", [](Run& run) { down(run, 4 * kib); }),
    row("quarry/d2h_1MiB", [](Run& run) { down(run, mib); }),
    row("quarry/d2h_64MiB", [](Run& run) { down(run, 64 * mib); }),
    row("quarry/d2h_1GiB", [](Run& run) { down(run, std::min(4 * large(), gib)); }),
    row("quarry/h2d_strided",
        [](Run& run) {
          const std::int64_t n = matrix();
          up_strided(run, {n, n / 2}, {n, 2}, " h[:, ::2]");
        }),
    row("quarry/h2d_transposed",
        [](Run& run) {
          const std::int64_t n = matrix();
          up_strided(run, {n, n}, {1, n}, " h.T");
        }),
    row("quarry/h2d_columns",
        [](Run& run) {
          const std::int64_t n = matrix();
          up_strided(run, {n, n / 8}, {n, 1}, " h[:, :n/8]");
        }),
    row("quarry/d2h_strided", down_strided),
};

}  // namespace
