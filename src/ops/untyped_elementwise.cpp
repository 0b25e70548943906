// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/untyped_elementwise.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include <quarry/kernels/user_function.hpp>

#include "expr/kernel_inputs.hpp"
#include "memory/write_log.hpp"

namespace quarry::expr {
namespace {

using Form = TextArgument::Form;

bool mentions(std::string_view source, std::string_view name) {
  for (auto t = kernels::text::next_token(source); !t.text.empty();
       t = kernels::text::next_token(source)) {
    if (t.is(name)) return true;
  }
  return false;
}

bool names_one(const std::vector<KernelParameter>& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const KernelParameter& p) { return p.name == name; });
}

bool converts(const TextArgument& argument, DType to) {
  using quarry::detail::kind_rank;
  if (argument.form == Form::raw) return argument.type == to;
  if (argument.form == Form::number) return kind_rank(argument.type.kind()) <= kind_rank(to.kind());
  return same_kind(argument.type, to);
}

/// NumPy's type of a number without arrays.
DType type_of_number(DType type) {
  switch (type.kind()) {
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      return TypeId::int64;
    case Kind::floating:
      return TypeId::float64;
    case Kind::complex:
      return TypeId::complex128;
    default:
      return type;
  }
}

/// Of integers.
bool holds(DType type, const TextArgument& number) {
  const bool is_signed = type.kind() == Kind::signed_integer;
  const auto bits = 8 * static_cast<int>(type.itemsize());
  const std::uint64_t highest = ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  // the bits of -1 - x are those of x, inverted
  return number.is_negative ? is_signed && ~number.bits <= highest : number.bits <= highest;
}

void require_held(DType type, const TextArgument& argument) {
  using quarry::detail::is_integer;
  if (argument.form != Form::number) return;
  if (!is_integer(argument.type.kind()) || !is_integer(type.kind())) return;
  if (holds(type, argument)) return;
  quarry::detail::throw_out_of_range(argument.is_negative
                                         ? std::to_string(static_cast<std::int64_t>(argument.bits))
                                         : std::to_string(argument.bits),
                                     type);
}

void require_form(const std::string& kernel, const KernelParameter& parameter,
                  const TextArgument& argument) {
  require<LogicError>(parameter.is_raw == (argument.form == Form::raw), [&] {
    return fmt::format("the kernel {}: the parameter {} is {}", kernel, parameter.name,
                       parameter.is_raw ? "raw, and its argument is not: give Raw(array)"
                                        : "not raw, and its argument is");
  });
}

}  // namespace

/// What the generic types stand for in one call.
struct ElementwiseText::Types {
  std::map<std::string, DType> bound;

  /// Type `name` is `type` unless it is bound already.
  void bind(const KernelParameter& parameter, DType type) {
    if (parameter.is_generic()) bound.try_emplace(parameter.type, type);
  }
  DType of(const std::string& kernel, const KernelParameter& parameter) const {
    if (const auto named = dtype_named(parameter.type)) return *named;
    const auto found = bound.find(parameter.type);
    require<DTypeError>(found != bound.end(), [&] {
      return fmt::format("the kernel {}: nothing says what {} is, in \"{} {}\"", kernel,
                         parameter.type, parameter.type, parameter.name);
    });
    return found->second;
  }
  void bind_all(const std::string& kernel, const std::vector<KernelParameter>& in,
                std::span<const TextArgument> arguments) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!in[k].is_generic() || arguments[k].form == Form::number) continue;
      bind(in[k], arguments[k].type);
      require<DTypeError>(bound.at(in[k].type) == arguments[k].type, [&] {
        return fmt::format("the kernel {}: {} is {} and, in {}, {}", kernel, in[k].type,
                           bound.at(in[k].type).name(), in[k].name, arguments[k].type.name());
      });
    }
    for (std::size_t k = 0; k < in.size(); ++k) bind(in[k], type_of_number(arguments[k].type));
    for (std::size_t k = 0; k < in.size(); ++k) {
      const DType type = of(kernel, in[k]);
      require<DTypeError>(converts(arguments[k], type), [&] {
        return fmt::format("the kernel {}: {} does not convert to the {} of {}", kernel,
                           arguments[k].type.name(), type.name(), in[k].name);
      });
      require_held(type, arguments[k]);
    }
  }
};

ElementwiseText::ElementwiseText(std::string_view in_params, std::string_view out_params,
                                 std::string_view operation, std::string_view name,
                                 const ElementwiseOptions& options)
    : in_(kernel_parameters(in_params)),
      out_(kernel_parameters(out_params)),
      operation_(operation),
      name_(name),
      preamble_(kernels::with_lines("the preamble of ", name, options.preamble)) {
  kernel_parameters(fmt::format("{}{}{}", in_params, in_.empty() ? "" : ",", out_params));
  require<LogicError>(!out_.empty(), [&] { return fmt::format("{} has no output", name); });
  for (const auto* list : {&in_, &out_}) {
    for (const KernelParameter& p : *list) {
      require<LogicError>(!p.is_pointer && !(p.is_raw && list == &out_), [&] {
        return fmt::format("{}: the parameter {} is a pointer or a raw output: use PointerKernel",
                           name, p.name);
      });
      require<DTypeError>(p.is_generic() || dtype_named(p.type), [&] {
        return fmt::format("{}: {} is no element type, in \"{} {}\"", name, p.type, p.type, p.name);
      });
    }
  }
  has_n_ = names_one(in_, "n") || names_one(out_, "n");
  const bool has_i = names_one(in_, "i") || names_one(out_, "i");
  uses_position_ = !has_i && mentions(operation, "i");
}

void ElementwiseText::check(std::span<const TextArgument> in) const {
  require<LogicError>(in.size() == in_.size(), [&] {
    return fmt::format("the kernel {} has {} inputs, not {}; its outputs are those of into()",
                       name_, in_.size(), in.size());
  });
  for (std::size_t k = 0; k < in.size(); ++k) require_form(name_, in_[k], in[k]);
  Types types;
  types.bind_all(name_, in_, in);
}

const source_text& ElementwiseText::function(std::size_t k, std::span<const TextArgument> in,
                                             std::span<const DType> out) const {
  require<LogicError>(out.size() == out_.size(), [&] {
    return fmt::format("the kernel {} has {} outputs, not {}", name_, out_.size(), out.size());
  });
  std::vector<int> key{static_cast<int>(k)};
  for (const TextArgument& argument : in) {
    key.insert(key.end(), {static_cast<int>(argument.type.id()), static_cast<int>(argument.form)});
  }
  for (const DType type : out) key.push_back(static_cast<int>(type.id()));
  const std::lock_guard lock(mutex_);
  const auto known = functions_.find(key);
  if (known != functions_.end()) return *known->second;
  Types types;
  types.bind_all(name_, in_, in);
  for (std::size_t j = 0; j < out.size(); ++j) types.bind(out_[j], out[j]);
  for (std::size_t j = 0; j < out.size(); ++j) {
    const DType type = types.of(name_, out_[j]);
    require<DTypeError>(same_kind(type, out[j]), [&] {
      return fmt::format("the kernel {}: {} of {} does not convert to the output's {}", name_,
                         type.name(), out_[j].name, out[j].name());
    });
  }
  const source_text& made = kernels::text_of(name_, preamble_, source(k, in, out, types));
  functions_.emplace(std::move(key), &made);
  return made;
}

std::string ElementwiseText::source(std::size_t k, std::span<const TextArgument> in,
                                    std::span<const DType> out, const Types& types) const {
  std::string declared, locals;
  for (std::size_t j = 0; j < in.size(); ++j) {
    const std::string_view type = kernel_type_name(types.of(name_, in_[j]));
    const bool is_raw = in[j].form == Form::raw;
    declared += fmt::format("auto quarry_{}, ", j);
    locals += is_raw ? fmt::format("const {}* const {} = quarry_{};\n", type, in_[j].name, j)
                     : fmt::format("{} {} = convert<{}>(quarry_{});\n", type, in_[j].name, type, j);
  }
  for (const KernelParameter& p : out_) {
    locals += fmt::format("{} {}{{}};\n", kernel_type_name(types.of(name_, p)), p.name);
  }
  std::string used;
  for (const auto& [name, type] : types.bound) {
    used += fmt::format("using {} = {};\n", name, kernel_type_name(type));
  }
  if (!has_n_) locals += "[[maybe_unused]] const i64 n = quarry_size;\n";
  return fmt::format(
      R"(struct quarry_indexer {{ i64 count; __device__ i64 size() const {{ return count; }} }};
{}__device__ {} operator()({}i64 quarry_size{}) const {{
{}[[maybe_unused]] const quarry_indexer _ind{{quarry_size}};
{{ {}; }}
return convert<{}>({});
}})",
      used, kernel_type_name(out[k]), declared, uses_position_ ? ", i64 i" : "", locals,
      kernels::with_lines("", name_, operation_), kernel_type_name(out[k]), out_[k].name);
}

void require_raw(const DeviceNDArrayBase& array) {
  require<LogicError>(array.is_c_contiguous(), [&] {
    return fmt::format("an array of shape {} with gaps or another order is no raw argument: copy()",
                       to_string(array.shape()));
  });
  require<LogicError>(is_aligned(array), [&] {
    return fmt::format("an array of {} whose elements are not aligned is no raw argument: copy()",
                       array.dtype().name());
  });
}

void require_raw_on(std::span<const TextArgument> in, const DeviceNDArrayBase& out) {
  for (const TextArgument& argument : in) {
    require<LogicError>(!argument.memory || argument.memory->device() == out.device(), [&] {
      return fmt::format("a raw argument lies on {}, the output on {}",
                         to_string(argument.memory->device()), to_string(out.device()));
    });
  }
}

void require_outputs(const Shape& in, std::span<const Shape> out) {
  require_one_shape(out);
  if (in == out[0]) return;
  require<ShapeError>(in.size() <= out[0].size() && broadcast_shapes(in, out[0]) == out[0], [&] {
    return fmt::format("arguments of shape {} do not broadcast to the outputs' {}", to_string(in),
                       to_string(out[0]));
  });
}

bool can_write_together(const DeviceNDArrayBase* const* outs, std::size_t out_count,
                        const DeviceNDArrayBase* const* arrays, std::size_t count) {
  for (std::size_t k = 1; k < out_count; ++k) {
    require<LogicError>(outs[k]->device() == outs[0]->device(), [&] {
      return fmt::format("outputs on {} and on {}: one kernel writes to one device",
                         to_string(outs[0]->device()), to_string(outs[k]->device()));
    });
  }
  for (std::size_t k = 0; k < out_count; ++k) {
    const DeviceNDArrayBase& out = *outs[k];
    const auto is_apart = [&](const auto* other) {
      return !other->buffer()->shares_memory(*out.buffer());
    };
    if (!out.is_c_contiguous() || !is_aligned(out) || !std::all_of(outs, outs + k, is_apart) ||
        !std::all_of(arrays, arrays + count, is_apart)) {
      return false;
    }
  }
  for (std::size_t k = 0; k < out_count; ++k) {
    memory::note_write(outs[k]->address(), outs[k]->layout(), outs[k]->dtype().itemsize());
  }
  return true;
}

}  // namespace quarry::expr
