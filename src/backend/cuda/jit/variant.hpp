// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace quarry::backend::cuda {

struct Sharing;
struct Texts;

/// An instantiation of a kernel of the program's family: KERNEL<PROGRAM, arguments...>, for calls
/// in which operands may be the same.
class Variant {
 public:
  constexpr Variant(std::string_view kernel, std::initializer_list<int> arguments)
      : kernel_(kernel), count_(arguments.size()) {
    std::size_t k = 0;
    for (const int argument : arguments) arguments_[k++] = argument;
  }

  std::string_view kernel() const { return kernel_; }
  std::size_t count() const { return count_; }
  int argument(std::size_t k) const { return arguments_[k]; }
  /// The operands of the program that are the same (sharing.hpp); nullptr if none are.
  const Sharing* sharing() const { return sharing_; }
  /// The functions whose source the call has (texts.hpp); nullptr if there are none.
  const Texts* texts() const { return texts_; }
  Variant with(const Sharing* sharing, const Texts* texts = nullptr) const {
    Variant result = *this;
    result.sharing_ = sharing;
    result.texts_ = texts;
    return result;
  }
  std::size_t hash() const {
    std::size_t hash = kernel_.size();
    const auto add = [&](std::size_t more) { hash = (hash ^ more) * 0x9e3779b97f4a7c15u; };
    for (const int argument : arguments_) add(static_cast<std::size_t>(argument));
    add(reinterpret_cast<std::size_t>(sharing_));
    add(reinterpret_cast<std::size_t>(texts_));
    return hash;
  }
  friend bool operator==(const Variant& a, const Variant& b) {
    if (a.arguments_ != b.arguments_ || a.count_ != b.count_) return false;
    if (a.sharing_ != b.sharing_ || a.texts_ != b.texts_) return false;
    return a.kernel_.data() == b.kernel_.data() || a.kernel_ == b.kernel_;
  }

 private:
  std::string_view kernel_;
  std::size_t count_;
  std::array<int, 7> arguments_{};
  const Sharing* sharing_ = nullptr;
  const Texts* texts_ = nullptr;
};

/// The kernels, with their template arguments.
struct FlatMap {
  int width;  ///< elements per access
  operator Variant() const { return {"map_flat", {width}}; }
};
struct StridedMap {
  int rank, index_bytes, rows;  ///< rows per thread
  int width = 1;
  int wide = 0;  ///< bit k: input k is dense along the last axis and read by vectors
  operator Variant() const { return {"map_strided", {rank, index_bytes, rows, width, wide}}; }
};
struct ScatterMap {
  int rank, index_bytes, rows;  ///< as of StridedMap
  int width = 1;
  int wide = 0;
  operator Variant() const { return {"map_scatter", {rank, index_bytes, rows, width, wide}}; }
};
struct UnalignedMap {
  int rank, index_bytes, rows;  ///< rows per thread
  int width = 2;                ///< at least 2
  int wide = 0;                 ///< input_access, along the last axis
  operator Variant() const { return {"map_unaligned", {rank, index_bytes, rows, width, wide}}; }
};
struct ScatterRows {
  int rank, index_bytes, rows;  ///< as of UnalignedMap
  int width = 2;
  int wide = 0;
  operator Variant() const { return {"map_scatter_rows", {rank, index_bytes, rows, width, wide}}; }
};
struct ScatterSingles {
  int width = 1;
  int wide = 0;  ///< as of StridedMap
  operator Variant() const { return {"map_scatter_singles", {width, wide}}; }
};
struct PartedMap {
  int width = 1;
  int wide = 0;  ///< as of StridedMap
  operator Variant() const { return {"map_parted", {width, wide}}; }
};
struct MaskedRows {
  operator Variant() const { return {"map_masked_rows", {}}; }
};
struct AcrossMap {
  int rank, index_bytes;
  int width = 2;  ///< at least 2
  int wide = 0;   ///< input_access, along rows
  int flat = 0;   ///< bit k: input k is as dense as the outputs
  operator Variant() const { return {"map_across", {rank, index_bytes, width, wide, flat}}; }
};
struct TiledMap {
  static constexpr std::string_view name = "map_tiled";
  int rank;                   ///< axes
  int read_rank, write_rank;  ///< the last ones, along which tiles have several elements
  int width = 1;              ///< elements per access to what is not read by tiles
  int wide = 0;               ///< bit k: input k is read by vectors, but not by tiles
  int tiled = 0;              ///< bit k: input k is read by tiles
  int word = 0;               ///< elements of less than 4 bytes are read by 4, 8 or 16
  bool shifted = false;       ///< rows that are written begin at any element
  bool row_of_axes = false;   ///< and have several axes
  bool swizzled = false;      ///< in shared memory
  bool alike = false;         ///< what is not read by tiles has the strides of the first output
  bool turned = false;        ///< while they are read
  static constexpr int of_turned = 64;
  static bool is_turned(const Variant& variant) { return (variant.argument(6) & of_turned) != 0; }
  operator Variant() const {
    const int words = word == 4 ? 1 : word == 8 ? 9 : word == 16 ? 8 : 0;
    const int rows = words + (shifted ? 2 : 0) + (row_of_axes ? 4 : 0) + (swizzled ? 16 : 0) +
                     (alike ? 32 : 0) + (turned ? of_turned : 0);
    return {name, {rank, read_rank, write_rank, width, wide, tiled, rows}};
  }
};
struct Reduce {
  int kept_rank, reduced_rank, index_bytes, along_reduced;
  int width = 1;
  int wide = 0;
  bool finishes = false;  ///< what reduce_finish does with the partial accumulators
  operator Variant() const {
    return {finishes ? "reduce_and_finish" : "reduce",
            {kept_rank, reduced_rank, index_bytes, along_reduced, width, wide}};
  }
};
struct ReduceFew : Reduce {
  int accesses;
  operator Variant() const {
    return {"reduce_few",
            {kept_rank, reduced_rank, index_bytes, along_reduced, width, wide, accesses}};
  }
};
struct ReduceStaged {
  int kept_rank, reduced_rank, index_bytes;
  int wide;  ///< as of Reduce
  int lanes, segments, accesses;
  operator Variant() const {
    return {"reduce_staged",
            {kept_rank, reduced_rank, index_bytes, wide, lanes, segments, accesses}};
  }
};
struct ReduceSlabs {
  int kept_rank, index_bytes;
  operator Variant() const { return {"reduce_slabs", {kept_rank, index_bytes}}; }
};
struct ReduceFinish {
  int kept_rank, reduced_rank;
  operator Variant() const { return {"reduce_finish", {kept_rank, reduced_rank}}; }
};
struct Rows {
  int kept_rank, index_bytes;
  bool along_reduced;
  int width = 1;
  int wide = 0;
  int count = 0;  ///< accesses of a row that a thread keeps; 0: rows are read twice
  operator Variant() const {
    return {"rows", {kept_rank, index_bytes, along_reduced ? 1 : 0, width, wide, count}};
  }
};
/// The parts of rows: `partial` folds them, else they are computed.
struct RowParts {
  bool partial;
  int kept_rank, index_bytes;
  bool along_reduced;
  int width = 1;
  int wide = 0;
  operator Variant() const {
    return {partial ? "rows_partial" : "rows_apply",
            {kept_rank, index_bytes, along_reduced ? 1 : 0, width, wide}};
  }
};
struct Select {
  int rank, index_bytes;
  int width = 1;
  int wide = 0;
  operator Variant() const { return {"select", {rank, index_bytes, width, wide}}; }
};
struct Bincount {
  bool is_private;  ///< every block has counters of its own
  int width = 1;
  int wide = 0;
  operator Variant() const {
    return {is_private ? "bincount_private" : "bincount_direct", {width, wide}};
  }
};
struct Join {
  int axes, index_bytes;
  int words = 0;  ///< read by vectors; 1: one by one; 2: the same, some are filled
  operator Variant() const { return {"join", {axes, index_bytes, words}}; }
};
/// Joins of rows that have one word of each part.
struct Interleave {
  int parts;
  operator Variant() const { return {"interleave", {parts}}; }
};

}  // namespace quarry::backend::cuda
