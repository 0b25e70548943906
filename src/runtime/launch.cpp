// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/launch.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/stream_state.hpp"

namespace quarry::runtime {
namespace {

/// The kernel parameter space of every GPU holds this many words.
constexpr std::size_t most_words = 512;

std::size_t word_count(const kernels::program& p, std::size_t head, std::size_t rank) {
  const std::size_t operands = static_cast<std::size_t>(p.inputs) + 1;
  const std::size_t words =
      head + operands + 2 * static_cast<std::size_t>(p.scalars) + rank + operands * rank;
  require<LogicError>(words <= most_words, [&] {
    return fmt::format(
        "an expression with {} arrays and {} scalars at {} uncollapsed axes is too large for one "
        "kernel; "
        "evaluate parts of it first",
        p.inputs, p.scalars, rank);
  });
  return words;
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
std::int64_t span_of(const Shape& shape, std::span<const Strides> strides,
                     const std::uint32_t* itemsize) {
  std::int64_t largest = 0;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    std::int64_t reach = itemsize[k];
    for (std::size_t d = 0; d < shape.size(); ++d) {
      reach = checked_add(reach, checked_mul(std::abs(strides[k][d]), shape[d] - 1));
    }
    largest = std::max(largest, reach);
  }
  return largest;
}

struct Packer {
  backend::Words& words;
  std::size_t at = 0;
  void add(std::int64_t value) { words[at++] = static_cast<std::uint64_t>(value); }
  void add(std::span<const Operand> operands, const Scalar* scalars, int scalar_count) {
    for (const Operand& o : operands) words[at++] = reinterpret_cast<std::uint64_t>(o.data);
    for (int s = 0; s < scalar_count; ++s) {
      words[at++] = scalars[s][0];
      words[at++] = scalars[s][1];
    }
  }
  void add(const Dims& dims) {
    for (const std::int64_t d : dims) add(d);
  }
};

/// Strides of all operands, without the heap for the usual number of them.
class StrideTable {
 public:
  explicit StrideTable(std::size_t operands) : size_(operands) {
    if (operands > inline_size) heap_.resize(operands);
  }
  Strides& operator[](std::size_t k) { return heap_.empty() ? inline_[k] : heap_[k]; }
  std::span<const Strides> all() const { return {heap_.empty() ? inline_ : heap_.data(), size_}; }
  std::vector<Strides*> pointers() {
    std::vector<Strides*> result(size_);
    for (std::size_t k = 0; k < size_; ++k) result[k] = &(*this)[k];
    return result;
  }

 private:
  static constexpr std::size_t inline_size = 8;
  std::size_t size_;
  Strides inline_[inline_size];
  std::vector<Strides> heap_;
};

bool all_dense(std::span<const Operand> operands, const std::uint32_t* itemsize) {
  const Shape& shape = operands[0].layout->shape;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Layout& layout = *operands[k].layout;
    if (k > 0 && !(layout.shape == shape)) return false;
    if (!is_c_contiguous(layout, itemsize[k])) return false;
  }
  return true;
}

bool one_dense_axis(const Shape& shape, std::span<const Strides> strides,
                    const std::uint32_t* itemsize) {
  if (shape.size() > 1) return false;
  if (shape.empty()) return true;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    if (strides[k][0] != itemsize[k]) return false;
  }
  return true;
}

void launch_flat(const kernels::program& program, std::int64_t size,
                 std::span<const Operand> operands, const Scalar* scalars, const Stream& stream) {
  const std::uint32_t widest =
      *std::max_element(program.itemsize, program.itemsize + program.inputs + 1);
  backend::MapCall call{&program, 0, size, checked_mul(size, widest),
                        backend::Words(word_count(program, 1, 0))};
  Packer pack{call.words};
  pack.add(size);
  pack.add(operands, scalars, program.scalars);
  stream.state().device->map(call, stream.state().native);
}

}  // namespace

void launch_map(const kernels::program& program, std::span<const Operand> operands,
                const Scalar* scalars, const Stream& stream, bool ordered) {
  Shape shape = operands[0].layout->shape;
  const std::int64_t size = element_count(shape);
  if (size == 0) return;
  if (all_dense(operands, program.itemsize)) {
    return launch_flat(program, size, operands, scalars, stream);
  }
  StrideTable strides(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    strides[k] = broadcast_strides(*operands[k].layout, shape);
  }
  const auto pointers = strides.pointers();
  if (!ordered) sort_axes(shape, pointers);
  collapse(shape, pointers);
  if (one_dense_axis(shape, strides.all(), program.itemsize)) {
    return launch_flat(program, size, operands, scalars, stream);
  }
  backend::MapCall call{&program, static_cast<int>(shape.size()), size,
                        span_of(shape, strides.all(), program.itemsize),
                        backend::Words(word_count(program, 1, shape.size()))};
  Packer pack{call.words};
  pack.add(size);
  pack.add(operands, scalars, program.scalars);
  pack.add(shape);
  for (const Strides& s : strides.all()) pack.add(s);
  stream.state().device->map(call, stream.state().native);
}

namespace {

/// One group of axes (kept or reduced) with the strides of all operands.
struct AxisGroup {
  AxisGroup(const Shape& shape, std::span<const bool> reduced, bool take_reduced,
            std::span<const Operand> operands)
      : strides(operands.size()) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (reduced[d] == take_reduced) extents.push_back(shape[d]);
    }
    // the output has the kept axes only, and does not move along the others
    strides[0] = take_reduced ? Strides::filled(extents.size(), 0) : operands[0].layout->strides;
    for (std::size_t k = 1; k < operands.size(); ++k) {
      const Strides all = broadcast_strides(*operands[k].layout, shape);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (reduced[d] == take_reduced) strides[k].push_back(all[d]);
      }
    }
  }

  /// Orders the axes by the strides of the largest input, then merges neighbours. An empty group
  /// becomes one axis of extent 1, so that kernels always have one.
  void simplify(bool ordered, std::size_t leader) {
    auto pointers = strides.pointers();
    if (!ordered && leader > 0) std::swap(pointers[0], pointers[leader]);
    if (!ordered) sort_axes(extents, pointers);
    collapse(extents, pointers);
    if (extents.empty()) {
      extents.push_back(1);
      for (Strides* const s : pointers) s->push_back(0);
    }
  }
  std::int64_t innermost(std::size_t k) { return std::abs(strides[k].back()); }

  Shape extents;
  StrideTable strides;
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

backend::ReduceCall plan_reduction(const kernels::program& program, const Shape& shape,
                                   std::span<const bool> reduced, std::span<const Operand> operands,
                                   const Scalar* scalars, bool ordered) {
  const std::size_t leader = leading_input(shape, operands);
  AxisGroup kept(shape, reduced, false, operands), inner(shape, reduced, true, operands);
  const std::int64_t outputs = element_count(kept.extents), each = element_count(inner.extents);
  const bool dense = is_c_contiguous(*operands[0].layout, program.itemsize[0]);
  kept.simplify(false, leader);
  inner.simplify(ordered, leader);
  const bool dense_output =
      dense && one_dense_axis(kept.extents, kept.strides.all().subspan(0, 1), program.itemsize);
  const std::size_t rank = kept.extents.size() + inner.extents.size();
  const bool along =
      kept.extents.back() == 1 || leader == 0 ||
      (inner.extents.back() > 1 && inner.innermost(leader) <= kept.innermost(leader));
  backend::ReduceCall call{
      &program,
      static_cast<int>(kept.extents.size()),
      static_cast<int>(inner.extents.size()),
      outputs,
      each,
      checked_add(span_of(kept.extents, kept.strides.all(), program.itemsize),
                  span_of(inner.extents, inner.strides.all(), program.itemsize)),
      along,
      dense_output || outputs == 1,
      backend::Words(word_count(program, 3, rank))};
  Packer pack{call.words};
  pack.add(outputs);
  pack.add(each);
  pack.add(each);  // the chunk: the backend splits as it likes
  pack.add(operands, scalars, program.scalars);
  pack.add(kept.extents);
  pack.add(inner.extents);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    pack.add(kept.strides[k]);
    pack.add(inner.strides[k]);
  }
  return call;
}

}  // namespace

Reduction::Reduction(const kernels::program& program, const Shape& shape,
                     std::span<const bool> reduced, std::span<const Operand> operands,
                     const Scalar* scalars, bool ordered)
    : call_(plan_reduction(program, shape, reduced, operands, scalars, ordered)) {}

std::size_t Reduction::scratch_bytes(const Stream& stream) const {
  return stream.state().device->reduce_scratch(call_);
}

void Reduction::launch(void* scratch, const Stream& stream) const {
  stream.state().device->reduce(call_, scratch, stream.state().native);
}

}  // namespace quarry::runtime
