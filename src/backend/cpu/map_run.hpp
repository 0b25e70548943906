// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/map.hpp>

namespace quarry::backend::cpu_backend {

using kernels::i64;
using kernels::u64;

/// A map's loops over runs of one layout, with the longest vectors that there are; the arguments
/// are those of kernels/map.hpp. Inputs that are the same element everywhere are read from copies
/// of it. `stride` has to outlive the object.
class MapRun {
 public:
  MapRun(const kernels::map_loops& loops, const i64* stride);
  void operator()(i64 n, char* const* pointer, const u64* scalars, i64 first) const;

 private:
  bool changes_inputs(char* const* pointer) const;
  void dense(i64 n, char* const* pointer, const u64* scalars, i64 first) const;
  void repeated(i64 n, char* const* pointer, const u64* scalars, i64 first) const;
  void rest(i64 n, char* const* pointer, const u64* scalars, i64 first) const;

  const kernels::map_loops& loops_;
  const i64* const stride_;
  const int operands_;
  kernels::map_loops::loop* dense_ = nullptr;  ///< none where it does not fit the layout
  int repeated_ = 0;                           ///< inputs that are one element
  bool can_stage_ = false;                     ///< a block of every operand
};

}  // namespace quarry::backend::cpu_backend
