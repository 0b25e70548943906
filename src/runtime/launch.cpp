// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/launch.hpp"

#include <quarry/base/captures.hpp>
#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/annotation.hpp"
#include "kernels/operation_name.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::runtime {
namespace {

using backend::KernelCall;

/// Kernels name their inputs by a template each within the one before; compilers end at 200.
constexpr int most_operands = 180;

void require_room(const KernelCall& call, const backend::Device& device) {
  const kernels::program& program = *call.program;
  const kernels::block_places places{program.operands(), program.scalars,
                                     static_cast<int>(call.rank())};
  const bool fits = places.words() <= device.info().most_words && places.operands <= most_operands;
  require<LogicError>(fits, [&] {
    return fmt::format(
        "an expression with {} arrays and {} scalars at {} uncollapsed axes is too large for one "
        "kernel; evaluate parts of it first",
        program.inputs, program.scalars, call.rank());
  });
}

/// "map add float32 (4096, 4096)", with the shape that the program runs over.
std::string text_of(const kernels::program& program, const Shape& shape) {
  return fmt::format("{} {}", kernels::operation_name(program), to_string(shape));
}

void launch(KernelCall& call, const Shape& shape, std::span<const Operand> operands,
            const Scalar* scalars, backend::Workspace& workspace, const Stream& stream) {
  const backend::OperationRange range([&] { return text_of(*call.program, shape); },
                                      static_cast<std::uint64_t>(call.kept * call.reduced));
  require_room(call, *stream.state().device);
  call.is_captured = detail::is_capturing() && stream.state().is_captured();
  call.inputs_are_private = true;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    call.operands[k].data = const_cast<std::byte*>(operands[k].data);
    const bool is_output = k < static_cast<std::size_t>(call.program->outputs);
    call.inputs_are_private &= is_output || operands[k].is_private;
  }
  if (call.scalars.size() > 0) {
    std::memcpy(call.scalars.data(), scalars, sizeof(Scalar) * call.scalars.size());
  }
  stream.state().device->launch(call, workspace, stream.state().native);
}

/// The strides of an operand seen with `shape`.
Strides broadcast_strides(const Layout& layout, const Shape& shape) {
  if (layout.shape == shape) return layout.strides;
  Strides strides = Strides::filled(shape.size(), 0);
  const std::size_t missing = shape.size() - layout.rank();
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] != 1) strides[missing + d] = layout.strides[d];
  }
  return strides;
}

/// The largest absolute byte offset that an index computation meets.
std::int64_t span_of(const KernelCall& call) {
  std::int64_t largest = 0;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    std::int64_t reach = call.program->itemsize[k];
    for (std::size_t d = 0; d < call.rank(); ++d) {
      const std::int64_t stride = std::abs(call.operands[k].strides[d]);
      reach = checked_add(reach, checked_mul(stride, call.shape[d] - 1));
    }
    largest = std::max(largest, reach);
  }
  return largest;
}

bool all_dense(std::span<const Operand> operands, const std::uint32_t* itemsize) {
  const Shape& shape = operands[0].layout->shape;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Layout& layout = *operands[k].layout;
    if (k > 0 && !(layout.shape == shape)) return false;
    if (!is_c_contiguous(layout, itemsize[k])) return false;
  }
  return true;
}

/// One axis along which all operands are dense.
void make_flat(KernelCall& call, std::int64_t size) {
  call.shape.assign(1, size);
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    call.operands[k].strides.assign(1, call.program->itemsize[k]);
    call.span = std::max(call.span, checked_mul(size, call.program->itemsize[k]));
  }
}

void make_strided(KernelCall& call, std::span<const Operand> operands, bool ordered) {
  call.shape = operands[0].layout->shape;
  SmallArray<Strides*> strides(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    call.operands[k].strides = broadcast_strides(*operands[k].layout, call.shape);
    strides[k] = &call.operands[k].strides;
  }
  if (!ordered) sort_axes(call.shape, strides);
  collapse(call.shape, strides);
  if (call.shape.empty()) return make_flat(call, 1);
  call.span = span_of(call);
}

}  // namespace

void launch_map(const kernels::program& program, std::span<const Operand> operands,
                const Scalar* scalars, const Stream& stream, bool ordered,
                backend::Workspace& workspace, const MapCheck& check) {
  KernelCall call(program);
  call.kept = element_count(operands[0].layout->shape);
  call.check = check.check;
  call.check_stream = &stream;
  call.is_new = check.is_new;
  call.any_order = !ordered;
  if (call.kept == 0) return;
  if (all_dense(operands, program.itemsize)) {
    make_flat(call, call.kept);
  } else {
    make_strided(call, operands, ordered);
  }
  call.kept_rank = call.rank();
  launch(call, operands[0].layout->shape, operands, scalars, workspace, stream);
}

void launch_selection(const kernels::program& program, const Shape& shape,
                      std::span<const Operand> operands, const Scalar* scalars,
                      backend::Workspace& workspace, const Stream& stream) {
  KernelCall call(program);
  call.shape = shape;
  call.kept = element_count(shape);
  SmallArray<Strides*> strides(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Layout* const layout = operands[k].layout;
    call.operands[k].strides =
        layout ? broadcast_strides(*layout, shape) : Strides::filled(shape.size(), 0);
    strides[k] = &call.operands[k].strides;
  }
  collapse(call.shape, strides);
  if (call.shape.empty()) {
    call.shape.push_back(1);
    for (Strides* const s : strides) s->push_back(0);
  }
  call.kept_rank = call.rank();
  call.span = span_of(call);
  launch(call, shape, operands, scalars, workspace, stream);
}

namespace {

/// One group of axes (kept or reduced) with the strides of all operands.
struct AxisGroup {
  AxisGroup(const Shape& shape, std::span<const bool> reduced, bool take_reduced,
            std::span<const Operand> operands, bool positions = false)
      : strides(operands.size()), pointers(operands.size()) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (reduced[d] == take_reduced) extents.push_back(shape[d]);
    }
    // an output that has the kept axes only does not move along the others
    const bool is_whole = operands[0].layout->rank() == shape.size();
    if (positions) {
      strides[0] = dense_strides(extents, 1, Order::c);
    } else if (!is_whole) {
      strides[0] = take_reduced ? Strides::filled(extents.size(), 0) : operands[0].layout->strides;
    }
    for (std::size_t k = is_whole && !positions ? 0 : 1; k < operands.size(); ++k) {
      const Strides all = broadcast_strides(*operands[k].layout, shape);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (reduced[d] == take_reduced) strides[k].push_back(all[d]);
      }
    }
    for (std::size_t k = 0; k < operands.size(); ++k) pointers[k] = &strides[k];
  }

  /// Orders the axes by the strides of the largest input, then merges neighbours. An empty group
  /// becomes one axis of extent 1, so that kernels always have one.
  void simplify(bool ordered, std::size_t leader) {
    if (!ordered && leader > 0) std::swap(pointers[0], pointers[leader]);
    if (!ordered) sort_axes(extents, pointers);
    collapse(extents, pointers);
    if (extents.empty()) {
      extents.push_back(1);
      for (Strides* const s : pointers) s->push_back(0);
    }
  }
  std::int64_t innermost(std::size_t k) const { return std::abs(strides[k].back()); }

  Shape extents;
  SmallArray<Strides> strides;
  SmallArray<Strides*> pointers;
};

/// The input with the most distinct elements decides how to walk.
std::size_t leading_input(const Shape& shape, std::span<const Operand> operands) {
  std::size_t leader = 0;
  std::int64_t most = -1;
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const std::int64_t n = element_count(operands[k].layout->shape);
    if (n > most) leader = k, most = n;
  }
  return shape.empty() ? 0 : leader;
}

/// The operand in whose order kept axes are walked: the output where it has more elements than the
/// leading input, which is then broadcast along some of them.
std::size_t leader_of_kept(std::size_t leader, std::span<const Operand> operands) {
  const auto elements = [&](std::size_t k) { return element_count(operands[k].layout->shape); };
  return elements(0) > elements(leader) ? 0 : leader;
}

/// Whether the leading input is nearest along the reduced axes. Not if they give pieces of a few
/// elements between which kept ones lie: neighbouring threads then take neighbouring pieces.
bool runs_along_reduced(const AxisGroup& kept, const AxisGroup& inner, std::size_t leader) {
  constexpr std::int64_t short_piece = 16;
  if (kept.extents.back() == 1 || leader == 0) return true;
  const std::int64_t piece = inner.extents.back(), step = inner.innermost(leader);
  if (piece == 1 || step > kept.innermost(leader)) return false;
  const bool is_short = inner.extents.size() > 1 && piece < short_piece;
  return !is_short || kept.innermost(leader) != piece * step;
}

template <class D>
D joined(const D& first, const D& second) {
  D all = first;
  for (const std::int64_t value : second) all.push_back(value);
  return all;
}

}  // namespace

void launch_reduction(const kernels::program& program, const Shape& shape,
                      std::span<const bool> reduced, std::span<const Operand> operands,
                      const Scalar* scalars, bool positions, backend::Workspace& workspace,
                      const Stream& stream) {
  const std::size_t leader = leading_input(shape, operands);
  const bool is_cpu = stream.state().device->info().is_cpu;
  AxisGroup kept(shape, reduced, false, operands);
  AxisGroup inner(shape, reduced, true, operands, positions && !is_cpu);
  kept.simplify(false, leader_of_kept(leader, operands));
  inner.simplify(positions && is_cpu, leader);
  KernelCall call(program);
  call.shape = joined(kept.extents, inner.extents);
  call.kept_rank = kept.extents.size();
  call.kept = element_count(kept.extents);
  call.reduced = element_count(inner.extents);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    call.operands[k].strides = joined(kept.strides[k], inner.strides[k]);
  }
  call.span = span_of(call);
  call.along_reduced = runs_along_reduced(kept, inner, leader);
  launch(call, shape, operands, scalars, workspace, stream);
}

void launch_join(const kernels::program& program, std::byte* to,
                 std::shared_ptr<const kernels::join_parts> parts, const Stream& stream) {
  KernelCall call(program);
  call.kept = parts->columns.extent;
  for (int d = 0; d < parts->axes; ++d) call.kept *= parts->axis[d].result.extent;
  call.kept_rank = 1;
  make_flat(call, call.kept);
  call.joined = std::move(parts);
  const Layout flat{{call.kept}, {program.itemsize[0]}};
  const Operand result{to, &flat};
  launch(call, flat.shape, {&result, 1}, nullptr, backend::no_workspace(), stream);
}

}  // namespace quarry::runtime
