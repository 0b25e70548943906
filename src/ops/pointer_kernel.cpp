// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/pointer_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <quarry/kernels/source_text.hpp>

#include "expr/kernel_inputs.hpp"

namespace quarry {
namespace detail {

constexpr std::int64_t threads = 256, most_blocks = 1 << 16;

class PointerKernelState {
 public:
  PointerKernelState(std::string_view arguments, std::string_view operation, std::string_view name,
                     const PointerKernelOptions& options)
      : parameters_(kernel_parameters(arguments)),
        name_(name),
        preamble_(options.preamble),
        loop_prep_(options.loop_prep),
        operation_(operation),
        after_loop_(options.after_loop),
        options_(options.compile) {
    const auto is_pointer = [](const KernelParameter& p) { return p.is_pointer; };
    kernels::require_kernel_name(name);
    require<LogicError>(std::ranges::any_of(parameters_, is_pointer), [&] {
      return fmt::format("the kernel {} has no pointer among its arguments, \"{}\"", name,
                         arguments);
    });
    for (const KernelParameter& p : parameters_) {
      require<LogicError>(p.name != "i" && p.name != "n" && !p.is_raw, [&] {
        return fmt::format("the kernel {} has no argument {}{}", name, p.is_raw ? "raw " : "",
                           p.name);
      });
    }
  }

  /// Checks the arguments; the first array.
  const DeviceNDArrayBase& check(std::span<const PointerArgument> arguments) const {
    require<LogicError>(arguments.size() == parameters_.size(), [&] {
      return fmt::format("the kernel {} has {} arguments, not {}", name_, parameters_.size(),
                         arguments.size());
    });
    const DeviceNDArrayBase* first = nullptr;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      check_type(parameters_[k], arguments[k]);
      if (!first) first = arguments[k].array;
    }
    check_layouts(arguments, *first);
    return *first;
  }

  Function function(const Device& device, std::span<const PointerArgument> arguments) {
    Key key{device.id(), {}};
    for (const PointerArgument& a : arguments) {
      key.second.emplace_back(a.type.id(), a.type.itemsize());
    }
    const std::lock_guard lock(mutex_);
    const auto known = functions_.find(key);
    if (known != functions_.end()) return known->second;
    CompileOptions own = options_;
    own.device = device;
    const Function made = compile(source_for(arguments), own).function(name_);
    return functions_.emplace(std::move(key), made).first->second;
  }

 private:
  void check_type(const KernelParameter& parameter, const PointerArgument& argument) const {
    require<LogicError>(parameter.is_pointer == (argument.array != nullptr), [&] {
      return fmt::format("the kernel {}: the argument {} is {}", name_, parameter.name,
                         parameter.is_pointer ? "an array" : "a number");
    });
    if (!parameter.is_pointer) return;
    require<LogicError>(parameter.is_const || !argument.array->is_read_only(), [&] {
      return fmt::format("the kernel {}: {} may be written, and its array is read-only", name_,
                         parameter.name);
    });
    const auto named = dtype_named(parameter.type);
    require<DTypeError>(named ? *named == argument.type : argument.type.is_record(), [&] {
      return fmt::format("the kernel {}: the elements of {} are {}, not {}", name_, parameter.name,
                         parameter.type, argument.type.name());
    });
  }

  void check_layouts(std::span<const PointerArgument> arguments,
                     const DeviceNDArrayBase& first) const {
    bool all_c = true, all_f = true;
    for (const PointerArgument& argument : arguments) {
      if (!argument.array) continue;
      require<LogicError>(!argument.array->device().is_cpu(), [&] {
        return fmt::format("the kernel {} is source for GPUs, and an array is on the CPU device",
                           name_);
      });
      require<ShapeError>(argument.array->size() == first.size(), [&] {
        return fmt::format("the kernel {}: arrays of {} and {} elements", name_, first.size(),
                           argument.array->size());
      });
      require<LogicError>(expr::is_aligned(*argument.array), [&] {
        return fmt::format("the kernel {}: the elements of an array of {} are not aligned: copy()",
                           name_, argument.type.name());
      });
      all_c = all_c && argument.array->is_c_contiguous();
      all_f = all_f && argument.array->is_f_contiguous();
    }
    require<LogicError>(all_c || all_f, [&] {
      return fmt::format(
          "the kernel {}: the arrays are not all C-contiguous, nor all "
          "F-contiguous: copy() makes them so",
          name_);
    });
  }

  std::string source_for(std::span<const PointerArgument> arguments) const {
    std::string declared, converted, checked;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const KernelParameter& p = parameters_[k];
      const auto named = dtype_named(p.type);
      const std::string type(named ? c_type_name(*named) : std::string_view(p.type));
      if (p.is_pointer) {
        declared += fmt::format("{}{}* {}, ", p.is_const ? "const " : "", type, p.name);
        if (!named) {
          checked += fmt::format(
              "static_assert(sizeof({}) == {}, \"the elements of {} have {} bytes\");\n", type,
              arguments[k].type.itemsize(), p.name, arguments[k].type.itemsize());
        }
      } else {
        declared += fmt::format("{} quarry_{}, ", c_type_name(arguments[k].type), k);
        converted +=
            fmt::format("  const {} {} = static_cast<{}>(quarry_{});\n", type, p.name, type, k);
      }
    }
    return fmt::format(
        R"({}
{}extern "C" __global__ void {}({}long long quarry_start, long long quarry_step,
                              long long quarry_count, long long n) {{
{}{}
  const long long quarry_threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long quarry_k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       quarry_k < quarry_count; quarry_k += quarry_threads) {{
    const long long i = quarry_start + quarry_k * quarry_step;
    {{{};
    }}
  }}
{}
}}
)",
        kernels::with_lines("the preamble of ", name_, preamble_), checked, name_, declared,
        converted, kernels::with_lines("loop_prep of ", name_, loop_prep_),
        kernels::with_lines("", name_, operation_),
        kernels::with_lines("after_loop of ", name_, after_loop_));
  }

  /// The device, and of the arguments what the source depends on.
  using Key = std::pair<int, std::vector<std::pair<TypeId, std::size_t>>>;

  std::vector<KernelParameter> parameters_;
  std::string name_, preamble_, loop_prep_, operation_, after_loop_;
  CompileOptions options_;
  std::mutex mutex_;
  std::map<Key, Function> functions_;
};

namespace {

std::int64_t count_of(const IndexRange& range, std::int64_t n) {
  require<IndexError>(range.step != 0, "a range of indices with the step 0");
  if (range.step > 0 ? range.stop <= range.start : range.stop >= range.start) return 0;
  using Unsigned = std::uint64_t;  // the distance may be more than the highest int64
  const auto start = static_cast<Unsigned>(range.start), stop = static_cast<Unsigned>(range.stop),
             by = static_cast<Unsigned>(range.step);
  const Unsigned before_last = range.step > 0 ? (stop - start - 1) / by : (start - stop - 1) / -by;
  const auto last = static_cast<std::int64_t>(start + before_last * by);
  require<IndexError>(std::min(range.start, last) >= 0 && std::max(range.start, last) < n, [&] {
    return fmt::format(
        "the range of indices from {} to {} in steps of {} is not within {} "
        "elements",
        range.start, range.stop, range.step, n);
  });
  return static_cast<std::int64_t>(before_last) + 1;
}

}  // namespace

LaunchConfig PointerLaunch::config() const {
  return {.grid = std::min((count + threads - 1) / threads, most_blocks), .block = int{threads}};
}

std::optional<PointerLaunch> prepare_launch(PointerKernelState& state,
                                            std::span<const PointerArgument> arguments,
                                            const IndexRange* range) {
  const DeviceNDArrayBase& first = state.check(arguments);
  const std::int64_t n = first.size();
  const IndexRange all = range ? *range : IndexRange{0, n, 1};
  const std::int64_t count = count_of(all, n);
  if (count == 0) return std::nullopt;
  return PointerLaunch{state.function(first.device(), arguments), all.start, all.step, count, n};
}

}  // namespace detail

PointerKernel::PointerKernel(std::string_view arguments, std::string_view operation,
                             std::string_view name, const PointerKernelOptions& options)
    : state_(std::make_shared<detail::PointerKernelState>(arguments, operation, name, options)) {}

}  // namespace quarry
