// SPDX-License-Identifier: BSD-3-Clause
// A libFuzzer program: any text is the element type of an .npy file, which is read, or refused with
// FormatError or DTypeError. Elements of it are made usable, and repacked for classes that fit.
#include <quarry/array/record.hpp>
#include <quarry/base/error.hpp>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "io/npy_descr.hpp"
#include "io/python_literal.hpp"

namespace fuzz {

struct Inner {
  std::int16_t a;
  bool b[2];
};
QUARRY_RECORD(Inner, a, b);

struct Outer {
  std::int8_t n;
  double x;
  Inner in[3];
  std::complex<float> z;
};
QUARRY_RECORD(Outer, n, x, in, z);

struct Pair {
  float x, y;
};
QUARRY_RECORD(Pair, x, y);

}  // namespace fuzz

namespace {

using namespace quarry;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Fields lie within the record and do not overlap.
void check_fields(const npy::Descr& descr) {
  std::size_t end = 0;
  for (const npy::DescrField& field : descr.fields) {
    require(field.offset >= end);
    end = field.offset + field.bytes();
    require(end <= descr.dtype.itemsize());
    check_fields(field.descr);
  }
}

void check_elements(const npy::Descr& descr) {
  constexpr std::size_t count = 3, largest = 1 << 16;
  const std::size_t size = descr.dtype.itemsize();
  if (size == 0 || size > largest) return;
  std::vector<std::byte> elements(count * size);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::byte(37 * i + 5);
  npy::normalise(descr, elements);
  for (const DType& type : {dtype_of<fuzz::Inner>, dtype_of<fuzz::Outer>, dtype_of<fuzz::Pair>,
                            dtype_of<float>, dtype_of<bool>}) {
    if (!npy::has_elements(descr, type)) {
      require(type.is_record() || !npy::has_layout(descr, type) || !descr.fields.empty() ||
              descr.dtype != type);
      continue;
    }
    std::vector<std::byte> repacked(count * type.itemsize());
    npy::repack(descr, type, elements, repacked.data());
    if (npy::has_layout(descr, type)) require(repacked == elements);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  npy::Literal text({reinterpret_cast<const char*>(data), size});
  try {
    const npy::Descr descr = npy::read_descr(text);
    text.expect_end();
    require(!npy::to_string(descr).empty());
    require(npy::is_bytewise(descr) || npy::swaps_bytes(descr) || !descr.fields.empty());
    check_fields(descr);
    check_elements(descr);
  } catch (const FormatError&) {
  } catch (const DTypeError&) {
  }
  return 0;
}
