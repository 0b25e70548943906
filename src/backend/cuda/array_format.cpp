// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/array_format.hpp"

#include <fmt/format.h>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

struct Row {
  TypeId type;
  CUarray_format format;
};
constexpr Row rows[] = {
    {TypeId::int8, CU_AD_FORMAT_SIGNED_INT8},      {TypeId::int16, CU_AD_FORMAT_SIGNED_INT16},
    {TypeId::int32, CU_AD_FORMAT_SIGNED_INT32},    {TypeId::uint8, CU_AD_FORMAT_UNSIGNED_INT8},
    {TypeId::uint16, CU_AD_FORMAT_UNSIGNED_INT16}, {TypeId::uint32, CU_AD_FORMAT_UNSIGNED_INT32},
    {TypeId::float16, CU_AD_FORMAT_HALF},          {TypeId::float32, CU_AD_FORMAT_FLOAT}};

}  // namespace

CUarray_format format_of(const DType& type) {
  for (const Row& row : rows) {
    if (row.type == type.id()) return row.format;
  }
  throw LogicError(fmt::format("CUDA arrays and textures have no elements of {}", to_string(type)));
}

DType type_of(CUarray_format format) {
  for (const Row& row : rows) {
    if (row.format == format) return row.type;
  }
  throw LogicError(fmt::format("the array format {:#x} is unknown", static_cast<int>(format)));
}

}  // namespace quarry::backend::cuda
