// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/pointer_holder.hpp>

namespace quarry {

std::shared_ptr<Buffer> PointerHolderBase::as_buffer(std::size_t bytes, std::size_t offset,
                                                     const Stream& home) {
  std::shared_ptr<void> owner = weak_from_this().lock();
  require<LogicError>(owner != nullptr, "as_buffer: the object is owned by no std::shared_ptr");
  return Buffer::adopt(device_pointer() + offset, bytes, home, std::move(owner));
}

}  // namespace quarry
