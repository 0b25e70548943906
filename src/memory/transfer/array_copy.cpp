// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "memory/raw/array_state.hpp"
#include "memory/raw/block_copy.hpp"

/// Copies of one-dimensional CUDA arrays: one row each.
namespace quarry {
namespace {

using detail::ArraySide, detail::CopySide, detail::DeviceSide, detail::HostSide;

CopySide one_row(const char* call, const CudaArray& array) {
  const ArrayDescriptor& d = array.descriptor();
  require<LogicError>(d.is_one_dimensional(), [&] {
    return fmt::format("{}: a CUDA array of {}, which has more than one dimension", call,
                       to_string(d));
  });
  return ArraySide{array.state()};
}

void copy_row(const std::string& call, const CopySide& to, std::size_t to_index,
              const CopySide& from, std::size_t from_index, std::size_t bytes,
              const Stream* stream = nullptr) {
  memory::copy_box({call + ": the destination", to, {.x = to_index}},
                   {call + ": the source", from, {.x = from_index}}, {bytes, 1, 1}, stream, false);
}

/// The side is only read.
HostSide readable(std::span<const std::byte> bytes) {
  return {{const_cast<std::byte*>(bytes.data()), bytes.size()}};
}

}  // namespace

void detail::copy_htoa(const CudaArray& to, std::size_t index, std::span<const std::byte> from,
                       const Stream* stream) {
  copy_row("memcpy_htoa", one_row("memcpy_htoa", to), index, readable(from), 0, from.size(),
           stream);
}
void detail::copy_atoh(std::span<std::byte> to, const CudaArray& from, std::size_t index,
                       const Stream* stream) {
  copy_row("memcpy_atoh", HostSide{to}, 0, one_row("memcpy_atoh", from), index, to.size(), stream);
}

void memcpy_dtoa(const CudaArray& to, std::size_t index, const DevicePtr& from, std::size_t bytes) {
  copy_row("memcpy_dtoa", one_row("memcpy_dtoa", to), index, DeviceSide{from}, 0, bytes);
}
void memcpy_atod(const DevicePtr& to, const CudaArray& from, std::size_t index, std::size_t bytes) {
  copy_row("memcpy_atod", DeviceSide{to}, 0, one_row("memcpy_atod", from), index, bytes);
}
void memcpy_atoa(const CudaArray& to, std::size_t to_index, const CudaArray& from,
                 std::size_t from_index, std::size_t bytes) {
  copy_row("memcpy_atoa", one_row("memcpy_atoa", to), to_index, one_row("memcpy_atoa", from),
           from_index, bytes);
}

}  // namespace quarry
