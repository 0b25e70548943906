// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/join_parts.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>

/// Rows that are joined of parts of others, or filled. Here are the loops of the CPU; the kernel of
/// GPUs is in kernels/join.cuh.
namespace quarry::kernels {

/// Writes the rows [row, past) of a result that begins at `to`.
struct join_loops {
  void (*run)(char* to, const join_parts& join, i64 row, i64 past);
};

QUARRY_LOOPS_BEGIN
template <class T>
struct cpu_join {
  static void run(char* to, const join_parts& join, i64 row, i64 past) {
    T* out = reinterpret_cast<T*>(to) + row * join.columns.extent;
    for (; row < past; ++row) {
      const joined_row<i64> here(join, row, join.axes);
      i64 column = 0;
      for (int k = 0; k < join.parts; ++k) {
        const joined_part& part = join.part[k];
        const i64 count = part.end - column;
        if (const i32 value = here.value_of(part); value >= 0) {
          const T filling = *reinterpret_cast<const T*>(join.value[value]);
          for (i64 i = 0; i < count; ++i) out[i] = filling;
        } else {
          const T* const from =
              reinterpret_cast<const T*>(here.address_of(part, join.axes)) + column;
          QUARRY_IVDEP
          for (i64 i = 0; i < count; ++i) out[i] = from[i];
        }
        out += count;
        column = part.end;
      }
    }
  }
  static constexpr join_loops loops{run};
};
QUARRY_LOOPS_END

template <class T>
struct parts_of<join_of<T>> {
  static constexpr family kind = family::join;
  static constexpr int scalars = 0;
  using expression = several<>;
  using types = operands_of<T>;
  using loops = cpu_join<T>;
};

}  // namespace quarry::kernels
