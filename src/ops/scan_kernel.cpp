// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/scan_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <quarry/kernels/source_text.hpp>
#include <quarry/ops/kernel_parameters.hpp>

namespace quarry::expr {
namespace {

constexpr std::int64_t threads = 256, items = 8, tile = threads * items;
/// Blocks walk over the tiles with the stride of the grid.
constexpr std::int64_t most_blocks = 1 << 20;

/// A row is cut into tiles. The first kernel folds every tile but the last of each row, the second
/// one scans these totals, and the third one scans the tiles, each from the total before it. A
/// block keeps a tile in shared memory, of which each thread takes neighbouring elements; all is
/// combined in the order of the elements, in the same pairs in every run.
constexpr const char* kernels_text = R"(
namespace quarry_scan {
constexpr int threads = 256, items = 8, tile = threads * items;
typedef long long i64;
// Elements that a thread takes are apart by a bank more than a power of two.
__device__ inline int place(int j) { return j + j / 32; }
constexpr int places = tile + tile / 32;

// The values of threads 0 to t in order, for t < count.
__device__ inline value_type up_to(value_type own, int count, value_type* shared) {
  const int t = threadIdx.x;
  shared[t] = own;
  __syncthreads();
  for (int apart = 1; apart < threads; apart *= 2) {
    value_type sum = shared[t];
    if (t >= apart && t < count) sum = combined(shared[t - apart], sum);
    __syncthreads();
    shared[t] = sum;
    __syncthreads();
  }
  return shared[t];
}
__device__ inline int load(value_type* to, const value_type* from, i64 begin, i64 n) {
  const int count = n - begin < tile ? static_cast<int>(n - begin) : tile;
  for (int j = threadIdx.x; j < count; j += threads) to[place(j)] = from[begin + j];
  __syncthreads();
  return count;
}
// What a thread takes of a tile of `count` elements, combined.
__device__ inline value_type fold(const value_type* elements, int count) {
  const int first = threadIdx.x * items;
  if (first >= count) return value_type();
  value_type sum = elements[place(first)];
  for (int j = first + 1; j < first + items && j < count; ++j) {
    sum = combined(sum, elements[place(j)]);
  }
  return sum;
}
}  // namespace quarry_scan

extern "C" __global__ void NAME_totals(const value_type* in, value_type* totals, long long n,
                                       long long rows, long long tiles) {
  using namespace quarry_scan;
  __shared__ value_type elements[places], shared[threads];
  for (i64 k = blockIdx.x; k < rows * (tiles - 1); k += gridDim.x) {
    const i64 row = k / (tiles - 1), t = k % (tiles - 1);
    const int count = load(elements, in + row * n, t * tile, n);
    const value_type sum = up_to(fold(elements, count), threads, shared);
    if (threadIdx.x == threads - 1) totals[row * tiles + t] = sum;
    __syncthreads();
  }
}

extern "C" __global__ void NAME_prefixes(value_type* totals, long long rows, long long tiles) {
  using namespace quarry_scan;
  __shared__ value_type shared[threads];
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    value_type* const of = totals + row * tiles;
    value_type before = value_type();
    for (i64 begin = 0; begin < tiles - 1; begin += threads) {
      const i64 rest = tiles - 1 - begin;
      const int count = rest < threads ? static_cast<int>(rest) : threads, t = threadIdx.x;
      const value_type own = t < count ? of[begin + t] : value_type();
      value_type sum = up_to(own, count, shared);
      if (begin > 0 && t < count) sum = combined(before, sum);
      if (t < count) of[begin + t] = sum;
      value_type last = shared[count - 1];
      before = begin > 0 ? combined(before, last) : last;
      __syncthreads();
    }
  }
}

extern "C" __global__ void NAME_write(const value_type* in, const value_type* totals,
                                      value_type* out, long long n, long long rows,
                                      long long tiles) {
  using namespace quarry_scan;
  __shared__ value_type elements[places], shared[threads];
  for (i64 k = blockIdx.x; k < rows * tiles; k += gridDim.x) {
    const i64 row = k / tiles, t = k % tiles, begin = t * tile;
    const int count = load(elements, in + row * n, begin, n), first = threadIdx.x * items;
    up_to(fold(elements, count), (count + items - 1) / items, shared);
    bool has_sum = t > 0;
    value_type sum = has_sum ? totals[row * tiles + t - 1] : value_type();
    if (threadIdx.x > 0 && first < count) {
      const value_type before = shared[threadIdx.x - 1];
      sum = has_sum ? combined(sum, before) : before;
      has_sum = true;
    }
    for (int j = first; j < first + items && j < count; ++j) {
      const value_type element = elements[place(j)];
      const value_type next = has_sum ? combined(sum, element) : element;
      elements[place(j)] = is_exclusive ? (has_sum ? sum : neutral()) : next;
      sum = next;
      has_sum = true;
    }
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += threads) {
      out[row * n + begin + j] = elements[place(j)];
    }
    __syncthreads();
  }
}
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string source_of(DType type, std::string_view scan_expr, const std::string_view* neutral,
                      const ScanOptions& options) {
  const std::string_view name = options.name;
  return fmt::format(
      "{}typedef {} value_type;\nconstexpr bool is_exclusive = {};\n"
      "__device__ inline value_type combined(value_type a, value_type b) {{ return ({}); }}\n"
      "__device__ inline value_type neutral() {{ return ({}); }}\n#line 1 \"scan\"\n{}",
      kernels::with_lines("the preamble of ", name, options.preamble), c_type_name(type),
      neutral != nullptr, kernels::with_lines("", name, scan_expr),
      neutral ? kernels::with_lines("the neutral element of ", name, *neutral) : "value_type()",
      replaced(kernels_text, "NAME", name));
}

}  // namespace

struct ScanText::State {
  struct Kernels {
    Function totals, prefixes, write;
  };
  std::string name, source;
  CompileOptions options;
  std::mutex mutex;
  std::map<int, Kernels> kernels;  ///< by device

  const Kernels& on(const Device& device) {
    const std::lock_guard lock(mutex);
    const auto known = kernels.find(device.id());
    if (known != kernels.end()) return known->second;
    CompileOptions own = options;
    own.device = device;
    const Module module = compile(source, own);
    const auto kernel = [&](const char* which) { return module.function(name + which); };
    return kernels
        .emplace(device.id(), Kernels{kernel("_totals"), kernel("_prefixes"), kernel("_write")})
        .first->second;
  }
};

ScanText::ScanText(DType type, std::string_view scan_expr, const std::string_view* neutral,
                   const ScanOptions& options)
    : state_(std::make_shared<State>()) {
  require<LogicError>(kernels::is_identifier(options.name), [&] {
    return fmt::format("the name of a kernel is a C++ identifier, not \"{}\"", options.name);
  });
  require<LogicError>(!scan_expr.empty() && (!neutral || !neutral->empty()), [&] {
    return fmt::format("the scan {} has no {}", options.name,
                       scan_expr.empty() ? "operation" : "neutral element");
  });
  state_->name = options.name;
  state_->options = options.compile;
  state_->source = source_of(type, scan_expr, neutral, options);
}

const std::string& ScanText::source() const { return state_->source; }

namespace {

/// Memory for the totals of tiles, as bytes.
struct Totals : DeviceNDArrayBase {
  Totals(DType type, std::int64_t count, const Stream& stream)
      : DeviceNDArrayBase(type, Shape{count}, stream, Order::c) {}
};
/// An array that the kernel only reads.
struct Input : DeviceNDArrayBase {
  explicit Input(const DeviceNDArrayBase& array) : DeviceNDArrayBase(array) { read_only_ = true; }
};

}  // namespace

void ScanText::run(const DeviceNDArrayBase& in, const DeviceNDArrayBase& out) const {
  if (out.empty()) return;
  const State::Kernels& kernels = state_->on(out.device());
  const Stream stream = quarry::detail::stream_for(out);
  const std::int64_t n = out.shape()[out.ndim() - 1], rows = out.size() / n;
  const std::int64_t tiles = (n + tile - 1) / tile;
  const auto config = [&](std::int64_t blocks) {
    return LaunchConfig{
        .grid = std::min(blocks, most_blocks), .block = int{threads}, .stream = stream};
  };
  const Input read(in);
  const Totals totals(out.dtype(), tiles > 1 ? rows * tiles : 0, stream);
  if (tiles > 1) {
    kernels.totals.launch(config(rows * (tiles - 1)), read, totals, n, rows, tiles);
    kernels.prefixes.launch(config(rows), totals, rows, tiles);
  }
  kernels.write.launch(config(rows * tiles), read, totals, out, n, rows, tiles);
}

void require_scan(const DeviceNDArrayBase& array, const Shape& shape) {
  require<LogicError>(!array.device().is_cpu(),
                      "a scan kernel is source for GPUs, and its argument is on the CPU device");
  require<ShapeError>(!shape.empty(), "a scan is along the last axis, and a 0-d array has none");
}

void require_scan_output(const Shape& in, const DeviceNDArrayBase& out) {
  require<ShapeError>(in == out.shape(), [&] {
    return fmt::format("a scan of shape {} has no output of shape {}", to_string(in),
                       to_string(out.shape()));
  });
}

}  // namespace quarry::expr
