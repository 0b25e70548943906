// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/host_call.hpp"
#include "backend/cuda/driver/native.hpp"
#include "backend/cuda/driver/relaxed_capture.hpp"

namespace quarry::backend::cuda {
namespace {

CUdevice handle_of(int id) {
  CUdevice device = 0;
  check(driver().DeviceGet(&device, id));
  return device;
}

std::string name_of(CUdevice device) {
  std::array<char, 256> name{};
  check(driver().DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
  return name.data();
}

/// As nvidia-smi prints it; empty when the driver cannot tell.
std::string uuid_of(CUdevice device) {
  CUuuid id{};
  if (!driver().DeviceGetUuid || driver().DeviceGetUuid(&id, device) != CUDA_SUCCESS) return {};
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
  }
  return text;
}

/// Of a kernel with 4096 bytes of parameters, beside the largest of the others.
constexpr int few_words = (4096 - static_cast<int>(sizeof(kernels::tiling)) - 8) / 8;

/// Whether kernels take 32764 bytes of parameters, not 4096.
bool has_large_parameters(std::pair<int, int> compute_capability) {
  int version = 0;
  check(driver().DriverGetVersion(&version));
  return version >= 12010 && compute_capability.first >= 7;
}

bool is_ready(CUresult result) {
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result);
  return true;
}

}  // namespace

CudaDevice::CudaDevice(int id) : device_(handle_of(id)), context_(device_, id), pool_(device_, id) {
  set_checked_device(id);
  info_.id = id;
  info_.name = name_of(device_);
  info_.uuid = uuid_of(device_);
  info_.compute_capability = {attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                              attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  if (!has_large_parameters(info_.compute_capability)) info_.most_words = few_words;
  multiprocessors_ = std::max(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 1);
  cache_ = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
}

int CudaDevice::attribute(CUdevice_attribute name) const {
  int value = 0;
  check(driver().DeviceGetAttribute(&value, name, device_));
  return value;
}

std::map<std::string, std::int64_t> CudaDevice::attributes() const {
  struct Row {
    const char* name;
    CUdevice_attribute id;
  };
  static constexpr Row rows[] = {
#define QUARRY_ATTRIBUTE(name, enumerator) {#name, CU_DEVICE_ATTRIBUTE_##name},
#include "base/device_attribute.def"
#undef QUARRY_ATTRIBUTE
  };
  std::map<std::string, std::int64_t> values;
  for (const Row& row : rows) {
    int value = 0;
    // an older driver does not know them all
    if (driver().DeviceGetAttribute(&value, row.id, device_) == CUDA_SUCCESS) {
      values.emplace(row.name, value);
    }
  }
  return values;
}

MemoryInfo CudaDevice::memory_info() {
  const auto current = context_.bind();
  MemoryInfo info;
  check(driver().MemGetInfo(&info.free, &info.total));
  return info;
}

void CudaDevice::synchronize() {
  const auto current = context_.bind();
  check(driver().CtxSynchronize());
}

void CudaDevice::drain() noexcept {
  if (const auto current = context_.try_bind()) note(driver().CtxSynchronize());
}

void CudaDevice::do_reset() {
  if (const auto current = context_.try_bind()) pool_.destroy();
  context_.reset();
}

Stream CudaDevice::do_create_stream(StreamOrder order, int priority) {
  const auto current = context_.bind();
  const auto [least, most] = priority_range();
  CUstream stream = nullptr;
  check(driver().StreamCreateWithPriority(
      &stream, order == StreamOrder::with_default ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING,
      std::clamp(priority, most, least)));
  return stream;
}

void CudaDevice::do_destroy_stream(Stream stream) noexcept {
  if (const auto current = context_.try_bind()) note(driver().StreamDestroy(native(stream)));
}

std::pair<int, int> CudaDevice::priority_range() const {
  const auto current = context_.bind();
  int least = 0, most = 0;
  check(driver().CtxGetStreamPriorityRange(&least, &most));
  return {least, most};
}

void CudaDevice::synchronize(Stream stream) {
  const auto current = context_.bind();
  check(driver().StreamSynchronize(native(stream)));
}

bool CudaDevice::is_done(Stream stream) {
  const auto current = context_.bind();
  const RelaxedCapture relaxed;
  return is_ready(driver().StreamQuery(native(stream)));
}

void CudaDevice::host_call(Stream stream, HostFunction f, void* state, HostFailure instead) {
  const auto current = context_.bind();
  PendingHostCall call({&context_, f, state, instead});
  const CUresult result = driver().LaunchHostFunc(native(stream), PendingHostCall::run, call.key());
  if (result != CUDA_SUCCESS && call.withdraw()) check(result);
}

Event CudaDevice::do_create_event(EventKind kind, bool blocking) {
  const auto current = context_.bind();
  unsigned flags = CU_EVENT_DEFAULT;
  if (blocking) flags |= CU_EVENT_BLOCKING_SYNC;
  if (kind != EventKind::timed) flags |= CU_EVENT_DISABLE_TIMING;
  if (kind == EventKind::interprocess) flags |= CU_EVENT_INTERPROCESS;
  CUevent event = nullptr;
  check(driver().EventCreate(&event, flags));
  return event;
}

void CudaDevice::do_destroy_event(Event event) noexcept {
  if (const auto current = context_.try_bind()) note(driver().EventDestroy(native_event(event)));
}

void CudaDevice::record(Event event, Stream stream) {
  const auto current = context_.bind();
  check(driver().EventRecord(native_event(event), native(stream)));
}

bool CudaDevice::query(Event event) {
  const auto current = context_.bind();
  const RelaxedCapture relaxed;
  return is_ready(driver().EventQuery(native_event(event)));
}

void CudaDevice::wait(Event event) {
  const auto current = context_.bind();
  check(driver().EventSynchronize(native_event(event)));
}

void CudaDevice::wait(Stream stream, Event event) {
  const auto current = context_.bind();
  check(driver().StreamWaitEvent(native(stream), native_event(event), CU_EVENT_WAIT_DEFAULT));
}

float CudaDevice::elapsed_ms(Event start, Event end) {
  const auto current = context_.bind();
  float ms = 0;
  const CUresult result = driver().EventElapsedTime(&ms, native_event(start), native_event(end));
  require<LogicError>(result != CUDA_ERROR_NOT_READY,
                      "an event is not done: wait for it before reading its time");
  check(result);
  return ms;
}

}  // namespace quarry::backend::cuda
