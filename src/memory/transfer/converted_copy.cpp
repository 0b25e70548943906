// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/converted_copy.hpp"

#include "base/aligned.hpp"
#include "base/dense_like.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "runtime/launch.hpp"

namespace quarry::memory {
namespace {

bool is_aligned(const DeviceRef& array) {
  return quarry::is_aligned(array.data, array.layout, array.dtype);
}

runtime::Operand operand_of(const DeviceRef& array) {
  return {array.data, &array.layout, array.buffer && array.buffer->is_private()};
}

}  // namespace

DeviceRef temporary_like(const Layout& like, DType type, const Stream& stream,
                         std::shared_ptr<Buffer>& holder) {
  holder =
      Buffer::allocate(static_cast<std::size_t>(byte_count(like.shape, type.itemsize())), stream);
  return {holder->address(), type, dense_like(like, type.itemsize()), holder.get()};
}

void copy_within(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  copy_strided(to.data, to.layout, operand_of(from), to.dtype.itemsize(), stream);
}

void convert_within(const DeviceRef& to, const DeviceRef& from, const kernels::program& program,
                    const Stream& stream) {
  std::shared_ptr<Buffer> from_holder, to_holder;
  DeviceRef source = from, target = to;
  if (!is_aligned(from)) {
    source = temporary_like(from.layout, from.dtype, stream, from_holder);
    copy_within(source, from, stream);
  }
  if (!is_aligned(to)) target = temporary_like(to.layout, to.dtype, stream, to_holder);
  const runtime::Operand operands[] = {operand_of(target), operand_of(source)};
  runtime::launch_map(program, operands, nullptr, stream);
  if (to_holder) copy_within(to, target, stream);
}

}  // namespace quarry::memory
