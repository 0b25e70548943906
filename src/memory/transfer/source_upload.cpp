// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/source_upload.hpp"

#include <quarry/base/error.hpp>

#include <memory>

#include "memory/resource/stream_order.hpp"
#include "memory/staged/staging.hpp"
#include "memory/staged/staging_pool.hpp"
#include "memory/staged/thresholds.hpp"
#include "memory/write_log.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {

void upload_source(const DeviceRef& to, const ByteSource& source, const Stream& stream) {
  const auto bytes = static_cast<std::size_t>(byte_count(to.layout.shape, to.dtype.itemsize()));
  if (bytes == 0) return;
  require<LogicError>(!stream.state().is_captured(),
                      "reads of files cannot be captured into a graph");
  to.buffer->used_on(stream);
  note_write(to.data, to.layout, to.dtype.itemsize());
  backend::Device& device = *stream.state().device;
  if (stream.device().is_cpu()) {
    synchronize(stream);
    return source.read(0, {to.data, bytes});
  }
  const TransferThresholds thresholds = thresholds_of(device);
  if (bytes < thresholds.staged_bytes) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    source.read(0, {memory.get(), bytes});
    return device.copy({backend::Direction::host_to_device, to.data, memory.get(), bytes},
                       stream.state().native, true);
  }
  const Walk walk{{}, {}, bytes};
  synchronize(stream);
  run_staged({&device, backend::Direction::host_to_device, to.data, nullptr, &walk, &thresholds,
              true, &source},
             StagingPool::of(device).stream(backend::Direction::host_to_device));
}

}  // namespace quarry::memory
