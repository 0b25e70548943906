// SPDX-License-Identifier: BSD-3-Clause
#include "memory/converted_copy.hpp"

#include <array>
#include <cstdint>

#include "memory/strided_copy.hpp"
#include "runtime/launch.hpp"

namespace quarry::memory {
namespace {

/// A GPU faults on a kernel's element that is not aligned, and the CPU's loops may.
bool is_aligned(const DeviceRef& array) {
  auto places = reinterpret_cast<std::uintptr_t>(array.data);
  for (std::size_t d = 0; d < array.layout.rank(); ++d) {
    if (array.layout.shape[d] > 1) places |= static_cast<std::uintptr_t>(array.layout.strides[d]);
  }
  return places % array.dtype.alignment() == 0;
}

}  // namespace

DeviceRef temporary_like(const Layout& like, DType type, const Stream& stream,
                         std::shared_ptr<Buffer>& holder) {
  holder =
      Buffer::allocate(static_cast<std::size_t>(byte_count(like.shape, type.itemsize())), stream);
  Axes axes;
  for (std::size_t d = 0; d < like.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  Strides order = like.strides;
  sort_axes(axes, std::array{&order});
  Layout layout{like.shape, Strides::filled(like.rank(), 0)};
  auto step = static_cast<std::int64_t>(type.itemsize());
  for (std::size_t d = axes.size(); d-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[d]);
    layout.strides[axis] = step;
    step *= like.shape[axis];
  }
  return {holder->data(), type, std::move(layout), holder.get()};
}

void copy_within(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  copy_strided(to.data, to.layout, from.data, from.layout.strides, to.dtype.itemsize(), stream);
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
  const runtime::Operand operands[] = {{target.data, &target.layout},
                                       {source.data, &source.layout}};
  runtime::launch_map(program, operands, nullptr, stream);
  if (to_holder) copy_within(to, target, stream);
}

}  // namespace quarry::memory
