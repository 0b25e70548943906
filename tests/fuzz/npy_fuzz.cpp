// SPDX-License-Identifier: BSD-3-Clause
// A libFuzzer program: any bytes are an .npy file that is read, or refused with FormatError or
// DTypeError. What was read must survive being written and read again.
#include <quarry/base/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "io/npy_format.hpp"

namespace {

using namespace quarry;

void require_same(bool same) {
  if (!same) std::abort();
}

void check_round_trip(const npy::Header& header) {
  if (!header.descr.fields.empty()) return;  // headers of records are made of their classes
  const Order order = header.fortran_order ? Order::f : Order::c;
  const std::string text = npy::make_header(header.descr.dtype, order, header.shape);
  const npy::Header again =
      npy::parse_header(std::as_bytes(std::span(text)), text.size() + header.data_size);
  require_same(again.shape == header.shape && again.descr.dtype == header.descr.dtype);
  require_same(again.fortran_order == header.fortran_order && !again.descr.swap_bytes);
  require_same(again.data_size == header.data_size && again.data_offset == text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  try {
    const npy::Header header =
        npy::parse_header(file.first(std::min(size, npy::max_header_size)), size);
    const auto elements = file.subspan(header.data_offset, header.data_size);
    std::vector<std::byte> copy(elements.begin(), elements.end());
    npy::normalise(header.descr, copy);
    check_round_trip(header);
  } catch (const FormatError&) {
  } catch (const DTypeError&) {
  }
  return 0;
}
