// SPDX-License-Identifier: BSD-3-Clause
// What is known of records when a program is compiled; see cmake/expect_clean.cmake.
#include <quarry/quarry.hpp>

struct Pair {
  float a, b;
};
QUARRY_RECORD(Pair, a, b);

struct Nested {
  Pair pair;
  int list[3];
};
QUARRY_RECORD(Nested, pair, list);

struct Plain {
  char bytes[3];
};

using quarry::dtype_of, quarry::DType, quarry::TypeId;

static_assert(dtype_of<Pair>.fields().size() == 2 &&
              dtype_of<Nested>.fields()[0].dtype == dtype_of<Pair>);
static_assert(dtype_of<Plain>.fields().empty() && dtype_of<float>.fields().empty());
static_assert(!(dtype_of<Pair> == dtype_of<Plain>)&&!(dtype_of<Plain> == DType::record(3, 1)));
static_assert(dtype_of<float> == DType(TypeId::float32) &&
              DType::record(3, 1) == DType::record(3, 1));

float sum_of(const quarry::DeviceNDArray<Nested>& records) {
  const auto pairs = records.field<&Nested::pair>();
  pairs.field<&Pair::b>() *= 2.f;
  return quarry::sum(pairs.field<&Pair::a>()).item();
}

auto moved(const quarry::DeviceNDArray<Nested>& records, const quarry::DeviceNDArray<bool>& mask) {
  const auto chosen = quarry::where(mask, records, quarry::take(records, {1, 0}));
  return quarry::pad(quarry::where(mask, chosen, Nested{}), 1);
}
