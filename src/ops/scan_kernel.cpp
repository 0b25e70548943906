// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/scan_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <quarry/expr/text_node.hpp>
#include <quarry/kernels/source_text.hpp>
#include <quarry/ops/kernel_parameters.hpp>

#include "expr/kernel_inputs.hpp"

namespace quarry::expr {
namespace {

constexpr std::int64_t threads = 256, items = 8, tile = threads * items;
/// Blocks walk over the tiles with the stride of the grid.
constexpr std::int64_t most_blocks = 1 << 20;

/// The text, without its comments and in one line.
constexpr const char* kernels_text =
#define QUARRY_SCAN_KERNELS(...) #__VA_ARGS__
#include "ops/scan_kernels.inc"
#undef QUARRY_SCAN_KERNELS
    ;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Half precision and complex numbers are types of the library's headers.
struct ValueType {
  std::string_view header, name, conversion;
};
ValueType value_type_of(DType type) {
  const bool is_half = type == TypeId::float16 || type == TypeId::bfloat16;
  if (!is_half && type.kind() != Kind::complex) {
    return {"", c_type_name(type), "static_cast<value_type>"};
  }
  return {
      "#include <quarry/kernels/complex.hpp>\nusing quarry::kernels::complex;\n"
      "using quarry::kernels::float16;\nusing quarry::kernels::bfloat16;\n",
      kernel_type_name(type), "quarry::kernels::convert<value_type>"};
}

std::string source_of(DType type, std::string_view scan_expr, const std::string_view* neutral,
                      const ScanOptions& options) {
  const std::string_view name = options.name;
  const ValueType value = value_type_of(type);
  return fmt::format(
      "{}{}typedef {} value_type;\nconstexpr bool is_exclusive = {};\n"
      "__device__ inline value_type combined(value_type a, value_type b) {{ return {}(({})); }}\n"
      "__device__ inline value_type neutral() {{ return {}(({})); }}\n#line 1 \"scan\"\n{}",
      value.header, kernels::with_lines("the preamble of ", name, options.preamble), value.name,
      neutral != nullptr, value.conversion, kernels::with_lines("", name, scan_expr),
      value.conversion,
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
  kernels::require_kernel_name(options.name);
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

bool can_scan(const DeviceNDArrayBase& array) {
  return array.is_c_contiguous() && is_aligned(array);
}

void require_scan_output(const Shape& in, const DeviceNDArrayBase& out) {
  require<ShapeError>(in == out.shape(), [&] {
    return fmt::format("a scan of shape {} has no output of shape {}", to_string(in),
                       to_string(out.shape()));
  });
}

}  // namespace quarry::expr
