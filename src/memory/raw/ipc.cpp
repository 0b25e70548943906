// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/ipc.hpp>

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "backend/backend.hpp"
#include "base/forked.hpp"
#include "memory/manager_forwarding.hpp"

namespace quarry {
namespace {

constexpr const char* advice =
    "only memory of device_resource, or of a pool over it (the default), can be shared between "
    "processes";

void require_gpu(const Device& device) {
  require<LogicError>(!device.is_cpu(),
                      "memory of the CPU device cannot be shared between processes: there is no "
                      "GPU whose driver could open it there");
}

/// A mapping of another process's allocation, closed with its last owner.
class Mapping;
using Key = std::pair<const backend::Device*, IpcBytes>;

/// Held while anything is opened or closed.
struct Mappings {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<Mapping>> open;
};
Mappings& mappings() {
  static Mappings& all = *new Mappings;  // arrays may outlive static objects
  return all;
}

class Mapping {
 public:
  Mapping(const Key& key, backend::Device& device)
      : key_(key), device_(device), memory_(device.import_memory(key.second)) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* memory() const { return memory_; }

 private:
  Key key_;
  backend::Device& device_;
  void* memory_;
};

/// Queued work may still use the memory: the device finishes first.
Mapping::~Mapping() {
  if (is_forked()) return;
  try {
    device_.synchronize();
  } catch (const std::exception&) {  // a lost device has no work left
  }
  const std::lock_guard lock(mappings().mutex);
  const auto found = mappings().open.find(key_);
  if (found != mappings().open.end() && found->second.expired()) mappings().open.erase(found);
  try {
    device_.close_imported(memory_);
  } catch (const std::exception&) {  // cannot be reported in a destructor
  }
}

std::shared_ptr<Mapping> open_mapping(const IpcBytes& handle, backend::Device& device) {
  const Key key{&device, handle};
  const std::lock_guard lock(mappings().mutex);
  const auto found = mappings().open.find(key);
  auto mapping = found == mappings().open.end() ? nullptr : found->second.lock();
  if (mapping) return mapping;
  mapping = std::make_shared<Mapping>(key, device);
  mappings().open[key] = mapping;
  return mapping;
}

std::shared_ptr<Buffer> open_memory(const IpcBytes& handle, const Device& device) {
  require_gpu(device);
  std::shared_ptr<Mapping> mapping;
  try {
    mapping = open_mapping(handle, device.backend());
  } catch (const LogicError& e) {
    throw LogicError(fmt::format(
        "no memory of another process can be opened on {} with these bytes: it is not there any "
        "more, {} cannot reach it, or this is the process that exported it: {}",
        to_string(device), to_string(device), e.what()));
  }
  const std::size_t bytes = device.backend().pointer_info(mapping->memory()).bytes;
  void* const memory = mapping->memory();
  return Buffer::adopt(memory, bytes, default_stream(device), std::move(mapping));
}

/// A GPU whose driver can be queried for the address.
Device device_to_ask(const DevicePtr& memory) {
  const auto buffer = memory.buffer();
  if (buffer) return buffer->device();
  const Device current;
  return current.is_cpu() && !gpus.empty() ? gpus[0] : current;
}

PointerInfo require_device_memory(const DevicePtr& memory, const Device& device) {
  require<LogicError>(memory.address() != 0, "there is no memory to share between processes");
  const PointerInfo info = pointer_info(memory, device);
  require<LogicError>(info.kind == PointerKind::device && info.device && info.base != 0, [&] {
    return fmt::format("{} is {}: {}", to_string(memory), to_string(info.kind), advice);
  });
  return info;
}

}  // namespace

namespace {

/// Of an array whose memory is an external manager's.
std::optional<IpcMemory> ask_manager(const DevicePtr& memory) {
  const auto buffer = memory.buffer();
  if (!buffer) return std::nullopt;
  const auto handle = memory::ipc_handle_of_manager(buffer->device(), buffer->data());
  if (!handle) return std::nullopt;
  const auto start = reinterpret_cast<std::uintptr_t>(buffer->data());
  return IpcMemory{*handle, memory.address() - start, buffer->bytes(), buffer->device()};
}

}  // namespace

IpcMemory get_ipc_handle(const DevicePtr& memory) {
  if (const auto managed = ask_manager(memory)) return *managed;
  const Device asked = device_to_ask(memory);
  require_gpu(asked);
  const PointerInfo info = require_device_memory(memory, asked);
  try {
    const IpcBytes handle =
        info.device->backend().export_memory(reinterpret_cast<void*>(info.base));
    return {handle, memory.address() - info.base, info.bytes, *info.device};
  } catch (const LogicError& e) {
    throw LogicError(fmt::format(
        "{} lies in an allocation of {} that the driver does not export (memory of its own pools, "
        "or of another process): {}: {}",
        to_string(memory), to_string(*info.device), advice, e.what()));
  }
}

IpcBytes mem_get_ipc_handle(const DevicePtr& memory) {
  const IpcMemory found = get_ipc_handle(memory);
  require<LogicError>(found.offset == 0, [&] {
    return fmt::format(
        "mem_get_ipc_handle: {} is {} bytes into its allocation; get_ipc_handle gives the offset "
        "with the handle",
        to_string(memory), found.offset);
  });
  return found.handle;
}
IpcBytes mem_get_ipc_handle(const void* memory) { return mem_get_ipc_handle(DevicePtr(memory)); }

IPCMemoryHandle::IPCMemoryHandle(const IpcBytes& handle, const Device& device)
    : buffer_(open_memory(handle, device)) {}

void IPCMemoryHandle::close() {
  require<LogicError>(is_open(), "IPCMemoryHandle::close: it is not open");
  buffer_.reset();
}

const std::shared_ptr<Buffer>& IPCMemoryHandle::buffer() const {
  require<LogicError>(is_open(), "an IPCMemoryHandle was used after close()");
  return buffer_;
}

}  // namespace quarry
