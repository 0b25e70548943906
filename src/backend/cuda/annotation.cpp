// SPDX-License-Identifier: BSD-3-Clause
#include "backend/annotation.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define QUARRY_HAS_NVTX 1
#endif

/// NVTX is headers alone: its first call loads the library that NVTX_INJECTION64_PATH names, which
/// profilers set for the programs that they start.
namespace quarry::backend {

#ifdef QUARRY_HAS_NVTX

namespace {

/// nullptr if no profiler is attached.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("Quarry");
  return handle;
}

}  // namespace

bool has_annotations() { return domain() != nullptr; }

void begin_annotation(const std::string& text, std::uint64_t number) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = number;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text.c_str();
  nvtxDomainRangePushEx(domain(), &event);
}

void end_annotation() { nvtxDomainRangePop(domain()); }

#else

bool has_annotations() { return false; }
void begin_annotation(const std::string&, std::uint64_t) {}
void end_annotation() {}

#endif

}  // namespace quarry::backend
