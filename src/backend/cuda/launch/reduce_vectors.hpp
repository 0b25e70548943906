// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/reduce_axes.hpp"
#include "backend/kernel_call.hpp"

/// By which vectors a reduction accesses its elements.
namespace quarry::backend::cuda {

/// Bytes that one access of all inputs reads.
std::uint64_t bytes_of(const KernelCall& call, const VectorAccess& vectors);

/// Vectors of up to `most` elements along the last kept axis, if there are some, else
/// pieces of the reduced ones.
VectorAccess vectors_of(const KernelCall& call, ReduceOrder& order, int most);

/// How the elements of a few accesses of each output are read by one thread; none if there are
/// more, or so few outputs that several threads have to share one. What a thread writes of a vector
/// of outputs is a sector at most, by stores of 16 bytes; but one store where the outputs have
/// twice the bytes of their elements, as stores of half a sector each take twice as long.
std::optional<VectorAccess> vectors_of_few(const KernelCall& call, ReduceOrder& order,
                                           int multiprocessors);

/// The outputs of a thread in columns, at most. Where they are no small part of what moves, a
/// sector of them: a wider vector is written in parts of sectors, each of which takes as long as a
/// whole one. Vectors that begin at any element are worth being wide in more cases.
int columns_of_thread(const KernelCall& call, bool unaligned);

/// How columns are walked: folded or as they are, by vectors of up to `most` outputs.
struct ColumnWalk {
  std::optional<KernelCall> folds = std::nullopt;
  bool unaligned = false;
  int most;
};
ColumnWalk column_walk(const KernelCall& call, int multiprocessors);
/// The same of rows with the last reduced axis among their outputs. None if these have no wider
/// vectors, or if the elements are words.
std::optional<ColumnWalk> inner_walk(const KernelCall& call, ReduceOrder order,
                                     int multiprocessors);

}  // namespace quarry::backend::cuda
