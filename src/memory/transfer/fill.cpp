// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/memory/transfer.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "backend/annotation.hpp"
#include "base/power_of_two.hpp"
#include "kernels/words.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "memory/write_log.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

const kernels::program& fill_program_of(std::size_t word) {
  return kernels::word_program(
      word, []<class Word>(std::type_identity<Word>) -> auto& {
        return kernels::program_for<kernels::map_of<kernels::val<Word, 0>, Word, 1>>::value;
      });
}

}  // namespace

void fill_elements(const DeviceRef& to, const void* value, const Stream& stream) {
  const std::int64_t count = element_count(to.layout.shape);
  if (count == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  const backend::OperationRange range(
      [&] { return fmt::format("fill {} {}", to_string(to.dtype), to_string(to.layout.shape)); });
  to.buffer->used_on(stream);
  memory::note_write(to.data, to.layout, itemsize);
  const bool word = is_power_of_two(itemsize) && itemsize <= 16;
  const bool aligned = reinterpret_cast<std::uintptr_t>(to.data) % itemsize == 0;
  if (word && aligned && memory::same_block(to.layout, to.layout, itemsize)) {
    return stream.state().device->fill(to.data, value, itemsize, count, stream.state().native);
  }
  if (word && memory::word_of(to.data, to.layout, itemsize) == itemsize) {
    runtime::Scalar scalar{};
    std::memcpy(scalar, value, itemsize);
    const runtime::Operand operand{to.data, &to.layout};
    return runtime::launch_map(fill_program_of(itemsize), {&operand, 1}, &scalar, stream);
  }
  require<LogicError>(!stream.state().is_captured(), [&] {
    return fmt::format("a fill with elements of {} bytes cannot be captured into a graph",
                       itemsize);
  });
  const auto one = Buffer::allocate(itemsize, stream);  // a record: one element, broadcast
  stream.state().device->copy({backend::Direction::host_to_device, one->data(), value, itemsize},
                              stream.state().native, false);
  copy_elements(to, {one->data(), to.dtype, {}, one.get()}, stream);
}

}  // namespace quarry
