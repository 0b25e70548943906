// SPDX-License-Identifier: BSD-3-Clause
#include "memory/exhaustion/spared_driver.hpp"

#include <atomic>

#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "fake_driver/fake_driver.hpp"
#include "memory/exhaustion/failing_new.hpp"

namespace quarry::test {
namespace {

using backend::cuda::DriverTable;
using backend::cuda::NvrtcTable;

/// The table that is called through `Spared`.
template <class Table>
std::atomic<const Table*> below = nullptr;

template <auto Member>
struct Spared;
template <class Table, class R, class... A, R (*Table::*Member)(A...)>
struct Spared<Member> {
  static R call(A... arguments) {
    const SparedNew spared;
    return (below<Table>.load()->*Member)(arguments...);
  }
};

const DriverTable& over(const DriverTable& table) {
  below<DriverTable> = &table;
  static DriverTable spared;  // threads of copies may call it to the end of the process
#define QUARRY_DRIVER(name, version, need) \
  spared.name = table.name ? Spared<&DriverTable::name>::call : nullptr;
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
  return spared;
}

const NvrtcTable& over(const NvrtcTable& table) {
  below<NvrtcTable> = &table;
  static NvrtcTable spared;
#define QUARRY_NVRTC(name) spared.name = Spared<&NvrtcTable::name>::call;
#include "backend/cuda/jit/nvrtc.def"
#undef QUARRY_NVRTC
  return spared;
}

}  // namespace

SparedDriver::SparedDriver() : driver_(&backend::cuda::driver()), nvrtc_(&fake::nvrtc_table()) {
  backend::cuda::use_driver(&over(*driver_));
  backend::cuda::use_nvrtc(&over(*nvrtc_));
}

SparedDriver::~SparedDriver() {
  backend::cuda::use_driver(driver_);
  backend::cuda::use_nvrtc(nvrtc_);
}

}  // namespace quarry::test
