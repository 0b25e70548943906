// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>
#include <quarry/kernels/reduce.hpp>

#include <cstddef>
#include <optional>

#include "backend/kernel_call.hpp"

/// The axes along which kernels walk a reduction: other ones than those of the call.
namespace quarry::backend::cuda {

inline const kernels::reduce_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::reduce_loops*>(call.program->loops);
}
/// Whether moments are those of bytes, which are exact: kernels/narrow.cuh.
bool has_exact_moments(const KernelCall& call);
/// The elements of the widest vector along a kept axis, each of which has an accumulator of so many
/// bytes. Eight of exact moments take the registers of a block in four, and are used where vectors
/// begin at any element.
constexpr int most_columns(std::size_t accumulator_size, bool are_exact, bool unaligned) {
  constexpr std::size_t most_bytes = 16;
  return accumulator_size > most_bytes || (are_exact && !unaligned) ? 4 : 8;
}
int most_columns(const KernelCall& call, bool unaligned);

/// The same call where the kept axes are those of the inputs, which its output cannot be walked
/// with: its accumulators go to `partial`. None if it has no fewer axes, or if the accumulators
/// are no small part of what is read.
std::optional<KernelCall> along_inputs(const KernelCall& call);
/// Rows of outputs that are no whole vectors, those of several positions of the last reduced axis
/// taken as one: they are next to each other in memory. None if there is no such axis, if vectors
/// are hardly wider then, or if the accumulators are no small part of what is read, or large but
/// for those of bytes. Not for programs that use or find positions. See kernels/reduce_body.cuh.
std::optional<KernelCall> folded(const KernelCall& call);
/// The same for vectors that begin at any element: rows of 256 outputs and more, if the axis has as
/// many.
std::optional<KernelCall> folded_anywhere(const KernelCall& call);
/// The same call with its last reduced axis among the kept ones, where it is in memory: of a few
/// bytes that lie side by side, rows with those of the kept axes around it are longer. None if they
/// are not, if there is no other reduced axis around these, or if the accumulators are no small
/// part of what is read. Not for programs that use or find positions.
std::optional<KernelCall> inner_kept(const KernelCall& call);
/// folded() of such a call.
std::optional<KernelCall> folded_inner(const KernelCall& inner);
/// The partial accumulators that a split of a reduction by folded rows, of so many vectors, has of
/// each output, of which these rows have `folds` elements: one where a block has whole rows.
constexpr std::int64_t partials_of_split(std::int64_t folds, std::int64_t vectors) {
  return vectors < kernels::short_row ? 1 : folds;
}
/// Whether all inputs run through the reduced axes as through one axis.
bool is_run(const KernelCall& call);
/// The reduced elements of a call, with those before and behind rows along the last axis that are
/// in vectors of `width` elements with some of a row.
std::int64_t places_in_vectors(const KernelCall& call, int width);

}  // namespace quarry::backend::cuda
