// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"

#include <fmt/format.h>

#include <quarry/base/error.hpp>

#include "base/forked.hpp"

/// Creation and destruction on a device, for every backend: keeps the ledger.
namespace quarry::backend {

constinit thread_local std::uint64_t used_devices = 0;

namespace {

/// Removes an object from the ledger, then destroys it. A forked child leaves both to its parent.
template <class Destroy>
void unlisted(Ledger& ledger, Owned kind, void* handle, Destroy destroy) noexcept {
  if (is_forked()) return;
  ledger.remove(kind, handle);
  destroy();
}

}  // namespace

Workspace& no_workspace() {
  static class : public Workspace {
    void* take(std::size_t bytes) override {
      throw LogicError(fmt::format("a call that has no workspace wants {} bytes of it", bytes));
    }
  } none;
  return none;
}

namespace {

[[noreturn]] void refuse(const char* what) {
  throw LogicError(fmt::format("the CPU device has no {}: only GPUs do", what));
}

}  // namespace

Contexts& Device::contexts() { refuse("CUDA contexts"); }
Textures& Device::textures() { refuse("textures and surfaces"); }

/// Adds a new object to the ledger; if that runs out of memory, the object is destroyed.
template <class Undo>
void* Device::listed(Owned kind, void* handle, std::size_t bytes, Undo undo) {
  if (!handle) return nullptr;
  try {
    ledger_.add(kind, handle, bytes);
  } catch (...) {
    undo();
    throw;
  }
  return handle;
}

void Device::reset() {
  const Inventory alive = ledger_.inventory();
  require<LogicError>(alive.empty(), [&] {
    return fmt::format("{} cannot be reset: alive on it are {}",
                       info().is_cpu ? "cpu" : fmt::format("cuda:{}", info().id), to_string(alive));
  });
  do_reset();
}

void* Device::allocate(std::size_t bytes) {
  void* const memory = do_allocate(bytes);
  return listed(Owned::device_memory, memory, bytes, [&] { do_free(memory, bytes); });
}

/// Of device memory and of managed memory.
void Device::free(void* memory, std::size_t bytes) noexcept {
  unlisted(ledger_, Owned::device_memory, memory, [&] {
    ledger_.remove(Owned::managed_memory, memory);
    do_free(memory, bytes);
  });
}

Device::Pitched Device::allocate_pitched(std::size_t width, std::size_t height, unsigned access) {
  require<LogicError>(access == 4 || access == 8 || access == 16, [&] {
    return fmt::format("the words that read pitched memory have 4, 8 or 16 bytes, not {}", access);
  });
  const Pitched made = do_allocate_pitched(width, height, access);
  const std::size_t bytes = made.pitch * height;
  listed(Owned::device_memory, made.memory, bytes, [&] { do_free(made.memory, bytes); });
  return made;
}

void* Device::allocate_pooled(std::size_t bytes, Stream stream) {
  void* const memory = do_allocate_pooled(bytes, stream);
  return listed(Owned::pooled_memory, memory, bytes,
                [&] { do_free_pooled(memory, bytes, stream); });
}

void Device::free_pooled(void* memory, std::size_t bytes, Stream stream) noexcept {
  unlisted(ledger_, Owned::pooled_memory, memory, [&] { do_free_pooled(memory, bytes, stream); });
}

void* Device::allocate_host(std::size_t bytes, const HostMemoryFlags& flags) {
  void* const memory = do_allocate_host(bytes, flags);
  return listed(Owned::host_memory, memory, bytes, [&] { do_free_host(memory); });
}

void Device::free_host(void* memory) noexcept {
  unlisted(ledger_, Owned::host_memory, memory, [&] { do_free_host(memory); });
}

void Device::register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) {
  require<LogicError>(memory && bytes > 0, "there is no host memory to register in 0 bytes");
  do_register_host(memory, bytes, flags);
  listed(Owned::registered_memory, memory, bytes, [&] { do_unregister_host(memory); });
}

void Device::unregister_host(void* memory) {
  ledger_.remove(Owned::registered_memory, memory);
  do_unregister_host(memory);
}

void* Device::allocate_managed(std::size_t bytes, Attach attach) {
  require<LogicError>(attach != Attach::single,
                      "managed memory is attached to one stream after it has been allocated");
  void* const memory = do_allocate_managed(bytes, attach);
  return listed(Owned::managed_memory, memory, bytes, [&] { do_free(memory, bytes); });
}

void* Device::create_array(const ArrayDescriptor& descriptor) {
  void* const array = do_create_array(descriptor);
  return listed(Owned::array, array, descriptor.bytes(), [&] { do_destroy_array(array); });
}

void Device::destroy_array(void* array) noexcept {
  unlisted(ledger_, Owned::array, array, [&] { do_destroy_array(array); });
}

void* Device::import_memory(const IpcBytes& handle) {
  void* const memory = do_import_memory(handle);
  return listed(Owned::imported_memory, memory, 0, [&] { do_close_imported(memory); });
}

void Device::close_imported(void* memory) {
  ledger_.remove(Owned::imported_memory, memory);
  do_close_imported(memory);
}

Event Device::import_event(const IpcBytes& handle) {
  const Event event = do_import_event(handle);
  return listed(Owned::event, event, 0, [&] { do_destroy_event(event); });
}

Stream Device::create_stream(StreamOrder order, int priority) {
  if (order == StreamOrder::independent) note_unordered_stream();
  const Stream stream = do_create_stream(order, priority);
  return listed(Owned::stream, stream, 0, [&] { do_destroy_stream(stream); });
}

void Device::note_unordered_stream() {
  has_unordered_streams_ = true;
  if (has_pending_uploads_) finish_uploads();
}

void Device::note_upload() {
  if (!has_pending_uploads_) has_pending_uploads_ = true;
  if (has_unordered_streams_) finish_uploads();  // asked last: of two threads one sees the other
}

void Device::finish_uploads() {
  synchronize(legacy_stream());
  has_pending_uploads_ = false;
}

void Device::destroy_stream(Stream stream) noexcept {
  unlisted(ledger_, Owned::stream, stream, [&] { do_destroy_stream(stream); });
}

Event Device::create_event(EventKind kind, bool blocking) {
  const Event event = do_create_event(kind, blocking);
  return listed(Owned::event, event, 0, [&] { do_destroy_event(event); });
}

void Device::destroy_event(Event event) noexcept {
  unlisted(ledger_, Owned::event, event, [&] { do_destroy_event(event); });
}

Module Device::load_module(const ModuleImage& image, LoadLog& log) {
  const Module module = do_load_module(image, log);
  return listed(Owned::module, module, 0, [&] { do_unload_module(module); });
}

void Device::unload_module(Module module) noexcept {
  unlisted(ledger_, Owned::module, module, [&] { do_unload_module(module); });
}

}  // namespace quarry::backend
