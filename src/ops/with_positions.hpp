// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

namespace quarry::expr {

/// Calls f with an array of bools or integers as what it is.
template <class F>
void with_positions(const DeviceNDArrayBase& positions, const F& f) {
  switch (positions.dtype().id()) {
#define QUARRY_POSITIONS(id, type) \
  case TypeId::id:                 \
    return f(DeviceNDArray<const type>(positions));
    QUARRY_POSITIONS(bool_, bool)
    QUARRY_POSITIONS(int8, std::int8_t)
    QUARRY_POSITIONS(int16, std::int16_t)
    QUARRY_POSITIONS(int32, std::int32_t)
    QUARRY_POSITIONS(int64, std::int64_t)
    QUARRY_POSITIONS(uint8, std::uint8_t)
    QUARRY_POSITIONS(uint16, std::uint16_t)
    QUARRY_POSITIONS(uint32, std::uint32_t)
    QUARRY_POSITIONS(uint64, std::uint64_t)
#undef QUARRY_POSITIONS
    default:
      return;
  }
}

}  // namespace quarry::expr
