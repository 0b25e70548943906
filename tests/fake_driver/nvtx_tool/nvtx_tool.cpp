// SPDX-License-Identifier: BSD-3-Clause
#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>
#include <utility>

/// A profiler that writes down the ranges of the domain "Quarry". Loaded by NVTX, by way of
/// NVTX_INJECTION64_PATH; the tests read `quarry_nvtx_calls`.
namespace {

struct Calls {
  std::mutex mutex;
  std::string text;
  void add(const std::string& line) {
    const std::lock_guard lock(mutex);
    text += line + "\n";
  }
};
Calls& calls() {
  static auto& all = *new Calls;
  return all;
}
std::string domain_name;

nvtxDomainHandle_t NVTX_API create(const char* name) {
  domain_name = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain_name);
}
int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  calls().add(*reinterpret_cast<const std::string*>(domain) + ": " + event->message.ascii + " (" +
              std::to_string(event->payload.ullValue) + ")");
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  calls().add("end");
  return 0;
}

template <class F>
void put(NvtxFunctionTable table, NvtxCallbackIdCore2 id, F* f) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(f);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) {
    return 0;
  }
  put(table, NVTX_CBID_CORE2_DomainCreateA, create);
  put(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  put(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

/// What was seen since the last call: a line for each begin and end.
extern "C" __attribute__((visibility("default"))) const char* quarry_nvtx_calls() {
  static std::string taken;
  const std::lock_guard lock(calls().mutex);
  taken = std::exchange(calls().text, {});
  return taken.c_str();
}
