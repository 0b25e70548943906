// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <span>
#include <string_view>

/// The operations of ops.def and the conversions between element types, in PTX: NVRTC translates
/// the one source of them when the library is built (tools/operation_ptx.cpp). Values are in
/// registers of 32 bits, those of 8 bytes in registers of 64; above shorter ones there may be
/// anything, but bools are 0 or 1.
namespace quarry::backend::cuda {

/// A row of the table, which is sorted by names.
struct OperationPtx {
  /// "add_op float32" with the type of the loop, "convert int8 float32"; else the name of a
  /// function or variable that others use.
  std::string_view name;
  int result, operand[3];  ///< TypeId
  int operands;            ///< how many
  bool compares;           ///< integers of mixed sign by their values: no row is for these
  std::string_view uses;   ///< names of rows, with spaces between them
  /// With $0, $1, $2 for the registers of the operands and $r for that of the result. Of a function
  /// or variable its definition.
  std::string_view text;
};

/// Empty if the library was built without NVRTC.
std::span<const OperationPtx> operation_table();

/// nullptr if there is none.
const OperationPtx* find_operation(std::string_view name);

}  // namespace quarry::backend::cuda
