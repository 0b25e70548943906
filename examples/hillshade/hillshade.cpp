// SPDX-License-Identifier: BSD-3-Clause
// The main job, end to end: a digital elevation model goes to the device, slope, aspect and shaded
// relief are computed there, and the relief comes back and becomes a picture. Every stage is timed.
#include "options.hpp"
#include "png.hpp"
#include "terrain.hpp"
#include "terrain_xtensor.hpp"

#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <limits>
#include <vector>

namespace qy = quarry;

namespace {

using Host = xt::xtensor<float, 2>;
using Device = qy::DeviceNDArray<float>;

struct Timing {
  double first = 0;  ///< seconds
  double best = std::numeric_limits<double>::infinity();
};

/// Runs `work`, which returns when it is done, up to five times, but no more once two seconds are
/// over.
template <class Work>
Timing measure(Work work, int runs = 5) {
  Timing timing;
  double total = 0;
  for (int run = 0; run < runs && total < 2; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run == 0) timing.first = taken.count();
    timing.best = std::min(timing.best, taken.count());
    total += taken.count();
  }
  return timing;
}

/// `bytes`: what the stage has to move at least; 0 if that says nothing.
void print_stage(const char* stage, const Timing& timing, double bytes = 0) {
  std::printf("%-10s %12.3f %12.3f", stage, 1e3 * timing.first, 1e3 * timing.best);
  if (bytes > 0) std::printf(" %10.2f", 1e-9 * bytes / timing.best);
  std::printf("\n");
}

/// The file's heights N x N times, every second one mirrored, so that the edges meet.
Host load_tiled(const std::string& path, std::size_t tile) {
  const xt::xarray<float> heights = qy::load_npy<float>(path);
  if (heights.dimension() != 2 || heights.shape(0) < 3 || heights.shape(1) < 3)
    throw std::runtime_error(path + ": not a grid of at least 3 x 3 heights");
  const std::size_t rows = heights.shape(0), columns = heights.shape(1);
  const auto mirrored = [](std::size_t i, std::size_t n) {
    return i / n % 2 == 0 ? i % n : n - 1 - i % n;
  };
  Host tiled = Host::from_shape({tile * rows, tile * columns});
  for (std::size_t i = 0; i < tile * rows; ++i)
    for (std::size_t j = 0; j < tile * columns; ++j) {
      const float height = heights(mirrored(i, rows), mirrored(j, columns));
      tiled(i, j) = height < -9990 ? std::numeric_limits<float>::quiet_NaN() : height;
    }
  return tiled;
}

void save_picture(const Options& options, const Host& shade) {
  const std::size_t limit = 4096;
  const auto height = std::min(shade.shape(0), limit), width = std::min(shade.shape(1), limit);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(height * width);
  for (std::size_t i = 0; i < height; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      const float grey = shade(i, j);  // 0 to 255, or NaN, which no comparison holds for
      pixels.push_back(grey > 0 ? static_cast<std::uint8_t>(grey + 0.5f) : std::uint8_t{0});
    }
  write_png(options.output, pixels, static_cast<std::uint32_t>(width),
            static_cast<std::uint32_t>(height));
}

/// The largest |a - b| modulo `period`; infinite if only one of two cells is NaN.
double largest_difference(const Host& a, const Host& b,
                          double period = std::numeric_limits<double>::infinity()) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a.flat(i), y = b.flat(i);
    if (std::isnan(x) != std::isnan(y)) return std::numeric_limits<double>::infinity();
    if (!std::isnan(x)) largest = std::max(largest, std::abs(std::remainder(x - y, period)));
  }
  return largest;
}

/// Computes `heights` with xtensor, prints how far Quarry's result is from it and how the times
/// compare. Returns whether the results agree to half a grey level and a thousandth of a radian.
bool compare(const Host& heights, const Options& options, const Relief<Device>& ours,
             const Timing& compute, double with_copies) {
  Relief<Host> theirs;
  const Timing host = measure([&] { theirs = relief(heights, options.scene); });
  print_stage("xtensor", host, 7. * 4 * static_cast<double>(heights.size()));
  const double shade = largest_difference(ours.shade.copy_to_host(), theirs.shade);
  const double slope = largest_difference(ours.slope.copy_to_host(), theirs.slope);
  const double aspect =
      largest_difference(ours.aspect.copy_to_host(), theirs.aspect, 2 * std::numbers::pi);
  std::printf("largest difference: shade %.2g of 255, slope %.2g rad, aspect %.2g rad\n", shade,
              slope, aspect);
  std::printf("xtensor's time over Quarry's: %.2f computing alone, %.2f with upload and download\n",
              host.best / compute.best, host.best / with_copies);
  return shade < 0.5 && slope < 1e-3 && aspect < 1e-3;
}

void print_slope(const Device& slope) {
  auto degrees = qy::where(qy::isnan(slope), 0.f, slope) / radians;
  std::printf("slope: steepest %.1f degrees, mean %.1f\n", qy::max(degrees).item(),
              qy::mean(degrees).item());
}

bool run(const Options& options) {
  if (!options.device.empty()) qy::set_current_device(qy::Device::parse(options.device));
  const qy::Device device;
  std::cout << "device: " << device << ", " << device.name() << '\n';

  Host heights;
  const Timing load = measure([&] { heights = load_tiled(options.input, options.tile); }, 1);
  const double cells = static_cast<double>(heights.size()), bytes = 4 * cells;
  std::printf("%s, %zu x %zu times: %zu x %zu cells, %.1f MB\n", options.input.c_str(),
              options.tile, options.tile, heights.shape(0), heights.shape(1), 1e-6 * bytes);

  qy::require_context();
  Device z;
  Relief<Device> result;
  const Timing upload = measure([&] { z = qy::to_device(heights); });
  const Timing compute = measure([&] {
    result = relief(z, options.scene);
    qy::synchronize();
  });
  Host shade = Host::from_shape({heights.shape(0) - 2, heights.shape(1) - 2});
  const Timing download = measure([&] { result.shade.copy_to_host(shade); });
  const Timing write = measure([&] { save_picture(options, shade); }, 1);

  std::printf("%-10s %12s %12s %10s\n", "stage", "first ms", "best ms", "GB/s");
  print_stage("load", load);
  print_stage("upload", upload, bytes);
  print_stage("compute", compute, 6 * bytes);
  print_stage("download", download, bytes);
  print_stage("write", write);
  const bool agrees = !options.compare || compare(heights, options, result, compute,
                                                  upload.best + compute.best + download.best);
  print_slope(result.slope);
  std::cout << "picture: " << options.output << '\n';
  if (!agrees) std::cerr << "hillshade: Quarry and xtensor disagree\n";
  return agrees;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options =
        parse(std::span(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))));
    if (options.help) {
      std::cout << usage;
      return 0;
    }
    return run(options) ? 0 : 1;
  } catch (const UsageError& error) {
    std::cerr << "hillshade: " << error.what() << '\n' << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "hillshade: " << error.what() << '\n';
    return 1;
  }
}
