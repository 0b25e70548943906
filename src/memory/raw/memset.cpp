// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/memset.hpp>

#include <fmt/format.h>

#include "backend/annotation.hpp"
#include "memory/address_check.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/write_log.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

void require_aligned(const char* call, const char* what, std::size_t value, std::size_t size) {
  require<LogicError>(value % size == 0, [&] {
    return fmt::format("{}: the {} {:#x} is no multiple of an element's {} bytes", call, what,
                       value, size);
  });
}

template <class T>
void fill(const char* call, const DevicePtr& to, T value, std::size_t count, const Stream& stream) {
  require_aligned(call, "address", to.address(), sizeof value);
  memory::require_device_memory(call, to, memory::size_product(count, sizeof value),
                                stream.device());
  if (count == 0) return;
  memory::note_write(to.get(), count * sizeof value);
  memory::used_on(to, stream);
  const backend::OperationRange range(
      [&] { return fmt::format("{} {} bytes", call, count * sizeof value); }, count * sizeof value);
  stream.device().backend().fill(to.get(), &value, sizeof value, static_cast<std::int64_t>(count),
                                 stream.state().native);
}

template <class T>
void fill_rows(const char* call, const DevicePtr& to, std::size_t pitch, T value, std::size_t width,
               std::size_t height, const Stream& stream) {
  const std::size_t row = memory::size_product(width, sizeof value);
  require_aligned(call, "address", to.address(), sizeof value);
  if (height > 1) {
    require_aligned(call, "pitch", pitch, sizeof value);
    require<LogicError>(pitch >= row, [&] {
      return fmt::format("{}: a pitch of {} bytes for rows of {}", call, pitch, row);
    });
  }
  if (width == 0 || height == 0) return;
  const std::size_t bytes = memory::size_sum(memory::size_product(height - 1, pitch), row);
  memory::require_device_memory(call, to, bytes, stream.device());
  memory::note_write(static_cast<const std::byte*>(to.get()), {{height, row}, {pitch, 1}}, 1);
  memory::used_on(to, stream);
  const backend::OperationRange range(
      [&] { return fmt::format("{} {} x {} bytes", call, height, row); }, height * row);
  stream.device().backend().fill_rows(to.get(), pitch, &value, sizeof value, width, height,
                                      stream.state().native);
}

Stream default_stream_of(const DevicePtr& to) { return default_stream(memory::device_of({&to})); }

}  // namespace

void memset_d8(const DevicePtr& to, std::uint8_t value, std::size_t count) {
  fill("memset_d8", to, value, count, default_stream_of(to));
}
void memset_d16(const DevicePtr& to, std::uint16_t value, std::size_t count) {
  fill("memset_d16", to, value, count, default_stream_of(to));
}
void memset_d32(const DevicePtr& to, std::uint32_t value, std::size_t count) {
  fill("memset_d32", to, value, count, default_stream_of(to));
}

void memset_d8_async(const DevicePtr& to, std::uint8_t value, std::size_t count,
                     const Stream& stream) {
  fill("memset_d8_async", to, value, count, stream);
}
void memset_d16_async(const DevicePtr& to, std::uint16_t value, std::size_t count,
                      const Stream& stream) {
  fill("memset_d16_async", to, value, count, stream);
}
void memset_d32_async(const DevicePtr& to, std::uint32_t value, std::size_t count,
                      const Stream& stream) {
  fill("memset_d32_async", to, value, count, stream);
}

void memset_d2d8(const DevicePtr& to, std::size_t pitch, std::uint8_t value, std::size_t width,
                 std::size_t height) {
  fill_rows("memset_d2d8", to, pitch, value, width, height, default_stream_of(to));
}
void memset_d2d16(const DevicePtr& to, std::size_t pitch, std::uint16_t value, std::size_t width,
                  std::size_t height) {
  fill_rows("memset_d2d16", to, pitch, value, width, height, default_stream_of(to));
}
void memset_d2d32(const DevicePtr& to, std::size_t pitch, std::uint32_t value, std::size_t width,
                  std::size_t height) {
  fill_rows("memset_d2d32", to, pitch, value, width, height, default_stream_of(to));
}

void memset_d2d8_async(const DevicePtr& to, std::size_t pitch, std::uint8_t value,
                       std::size_t width, std::size_t height, const Stream& stream) {
  fill_rows("memset_d2d8_async", to, pitch, value, width, height, stream);
}
void memset_d2d16_async(const DevicePtr& to, std::size_t pitch, std::uint16_t value,
                        std::size_t width, std::size_t height, const Stream& stream) {
  fill_rows("memset_d2d16_async", to, pitch, value, width, height, stream);
}
void memset_d2d32_async(const DevicePtr& to, std::size_t pitch, std::uint32_t value,
                        std::size_t width, std::size_t height, const Stream& stream) {
  fill_rows("memset_d2d32_async", to, pitch, value, width, height, stream);
}

}  // namespace quarry
