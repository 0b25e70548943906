// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/kernel_call.hpp"

/// The operands of launches, and by which vectors kernels access them.
namespace quarry::backend::cuda {

/// The operands of a call, of which the first `outputs` are written.
struct CallOperands {
  std::span<const Operand> all;
  const std::uint32_t* itemsizes;
  std::size_t outputs;
  const kernels::own_axes* own;  ///< of every operand; null where none is a side operand
  const Scalar* scalars;         ///< of the call: those axes are among them
  kernels::place_test is_at_one_place = nullptr;  ///< of the program

  explicit CallOperands(const KernelCall& call)
      : CallOperands(call.operands, call.program->itemsize,
                     static_cast<std::size_t>(call.program->outputs), call.program->own,
                     call.scalars.data()) {
    is_at_one_place = call.program->is_at_one_place;
  }
  CallOperands(std::span<const Operand> operands, const std::uint32_t* sizes, std::size_t written,
               const kernels::own_axes* axes = nullptr, const Scalar* values = nullptr)
      : all(operands), itemsizes(sizes), outputs(written), own(axes), scalars(values) {}

  std::size_t rank() const { return all[0].strides.size(); }
  std::uint64_t address(std::size_t k) const {
    return reinterpret_cast<std::uint64_t>(all[k].data);
  }
  std::int64_t stride(std::size_t k, std::size_t axis) const { return all[k].strides[axis]; }
  std::int64_t last_stride(std::size_t k) const { return all[k].strides.back(); }
  bool is_side(std::size_t k) const { return own && own[k].count > 0; }
  /// Whether operand k is dense, with rows of `columns` elements along the last of two axes.
  bool has_dense_rows(std::size_t k, std::int64_t columns) const;
  /// Whether the output is a side operand that has rows along the last axis at one place each.
  bool writes_rows() const;
  /// Those of a side operand's own axes, combined by or.
  std::uint64_t own_strides(std::size_t k) const;
};

/// The elements per thread of map_flat: the largest power of two with which all operands are
/// accessed by aligned vectors of at most 16 bytes.
int vector_width(const CallOperands& operands);

/// How many vectors of `width` elements a thread of map_flat has, with inputs of these sizes.
int vectors_of_thread(kernels::stored_elements stores, int width,
                      std::span<const std::uint32_t> input_sizes);

/// Where the vectors of an access are.
enum class VectorPlaces : std::uint8_t {
  aligned,
  ragged,    ///< aligned, but rows begin and end at any element: as many of them as have some of it
  shifted,   ///< aligned too, but rows begin before them, as many elements in all inputs
  run,       ///< the same, of all reduced axes as one
  unaligned  ///< at any element
};
/// Vectors along an axis. Bit k of `wide` says that input k is dense along it, or has every second
/// element, see quarry/kernels/access.hpp; the others have the stride 0 along it.
struct VectorAccess {
  int width = 1;
  int wide = 0;  ///< 0 where the width is 1
  VectorPlaces places = VectorPlaces::aligned;
};

/// The vectors of a strided map with rows of `columns` elements.
VectorAccess map_vectors(const CallOperands& operands, std::int64_t columns);
/// The same where rows begin at any element, but those of all operands as far from a vector. None
/// where elements differ in size, or an operand has gaps.
VectorAccess shifted_map_vectors(const CallOperands& operands);
/// The same where rows of `columns` elements begin and end at any element, and inputs too, which
/// may have every second element or be backwards: kernels/map_unaligned.cuh, map_scatter_rows.cuh.
/// None where rows are shorter than a few vectors, or where aligned vectors of `aligned` elements
/// are as fast.
VectorAccess unaligned_map_vectors(const CallOperands& operands, std::int64_t rows,
                                   std::int64_t columns, int aligned);
/// The vectors of a map of dense outputs that go on from a row to the next one. A side operand is
/// one that a program copies: kernels/map_across.cuh.
struct VectorsAcross {
  int width = 1;
  int wide = 0, flat = 0;
};
VectorsAcross vectors_across(const CallOperands& operands, const Shape& shape);
/// The vectors of the inputs along the last axis, to which every row is aligned.
VectorAccess aligned_vectors(const CallOperands& operands);
/// The vectors of the inputs of a reduction along its last axis, of `extent` elements, one of
/// `reduced_rank` reduced ones. Their alignment: kernels/reduce.cuh.
VectorAccess row_vectors(const CallOperands& operands, std::size_t reduced_rank,
                         std::int64_t extent);
/// The same where rows begin at any element, and there are several reduced axes.
VectorAccess ragged_vectors(const CallOperands& operands, std::int64_t extent);
/// The same of several reduced axes that are one for all inputs: `extent` is that of all.
VectorAccess run_vectors(const CallOperands& operands, std::int64_t extent);
/// The same for threads along the kept axes: every row is aligned.
VectorAccess piece_vectors(const CallOperands& operands, std::int64_t extent);
/// The same of vectors that have all of a row of a few elements, which are no power of two; their
/// alignment: kernels::vector_alignment.
VectorAccess whole_pieces(const CallOperands& operands, std::int64_t extent);
/// The same along its last kept axis, number `axis`, of at most `most` elements, each of which has
/// an accumulator. With `every_second` an input may have every second element.
VectorAccess column_vectors(const CallOperands& operands, std::size_t axis, std::int64_t extent,
                            bool every_second = false, int most = 4);
/// The same where vectors begin at any element, of up to 8 bytes of the smallest one. None of less
/// than four elements, where aligned vectors of `aligned` elements have words, and where rows are
/// shorter than a few vectors.
VectorAccess unaligned_column_vectors(const CallOperands& operands, std::size_t axis,
                                      std::int64_t extent, int aligned, int most);

/// The vectors of a selection's inputs along the last axis, to which every row is aligned.
VectorAccess select_vectors(const CallOperands& operands, const Shape& shape);

}  // namespace quarry::backend::cuda
