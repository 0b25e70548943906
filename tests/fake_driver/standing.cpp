// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/standing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <quarry/base/error.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/runtime/device.hpp>

#include "backend/backend.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "runtime/inventory.hpp"

namespace quarry::test {
namespace {

namespace shim = backend::cuda::shim;
using backend::Inventory;

std::vector<Device> all_devices() {
  std::vector<Device> all{Device::cpu()};
  for (const auto& gpu : backend::cuda_devices()) all.emplace_back(*gpu);
  return all;
}

const backend::cuda::DriverTable& cu() {
  return kind() == Kind::fake ? fake::driver_table() : backend::cuda::driver();
}

CUcontext current_context() {
  CUcontext current = nullptr;
  if (!backend::cuda_devices().empty()) cu().CtxGetCurrent(&current);
  return current;
}

struct Count {
  const char* what;
  std::size_t fake::Live::*number;
};
constexpr Count counts[] = {
    {"streams that nobody has destroyed", &fake::Live::streams},
    {"events that nobody has destroyed", &fake::Live::events},
    {"blocks of device memory that nobody has freed", &fake::Live::device_blocks},
    {"blocks of the driver's pools", &fake::Live::pool_blocks},
    {"blocks of page-locked memory", &fake::Live::host_blocks},
    {"ranges of host memory that are still registered", &fake::Live::registrations},
    {"blocks of managed memory", &fake::Live::managed_blocks},
    {"CUDA arrays that nobody has destroyed", &fake::Live::arrays},
    {"graphs that nobody has destroyed", &fake::Live::graphs},
    {"textures and surfaces that nobody has destroyed", &fake::Live::textures},
    {"blocks of other processes that are still open", &fake::Live::imported},
};

/// What `after` has more, kind by kind.
Inventory surplus(const Inventory& after, const Inventory& before, const Inventory& forgiven) {
  const auto more = [](std::size_t a, std::size_t b, std::size_t f) {
    return a - std::min(a, std::max(b, f));
  };
  Inventory result;
  for (std::size_t k = 0; k < backend::owned_kinds; ++k) {
    const auto &a = after.all[k], &b = before.all[k], &f = forgiven.all[k];
    result.all[k] = {more(a.count, b.count, f.count), more(a.bytes, b.bytes, f.bytes)};
  }
  return result;
}

DeviceStanding at(const Standing& standing, std::size_t device) {
  return device < standing.devices.size() ? standing.devices[device] : DeviceStanding();
}

}  // namespace

Standing Standing::as_it_is() {
  Standing found;
  for (const Device& device : all_devices()) {
    found.devices.push_back({pool_statistics(device).active_bytes, runtime::inventory(device)});
  }
  if (kind() == Kind::fake) found.live = fake::live();
  found.context = current_context();
  return found;
}

Standing Standing::now() {
  if (kind() == Kind::fake) {
    shim::clear_faults();
    fake::set_compiler({});
    fake::run_pending();
  }
  const CUcontext context = current_context();
  for (const Device& device : all_devices()) {
    if (!device.is_cpu() && runtime::inventory(device).empty()) continue;  // perhaps not used yet
    try {
      runtime::owned_inventory(device);
    } catch (const Error&) {  // a device that a test has lost gives nothing back
    }
  }
  Standing found = as_it_is();
  found.context = context;
  return found;
}

std::vector<std::string> left_behind(const Standing& before, const Standing& after,
                                     const Standing& forgiven) {
  std::vector<std::string> found;
  const std::vector<Device> all = all_devices();
  for (std::size_t i = 0; i < after.devices.size(); ++i) {
    const DeviceStanding a = at(after, i), b = at(before, i), f = at(forgiven, i);
    if (a.array_bytes > std::max(b.array_bytes, f.array_bytes)) {
      found.push_back(fmt::format("arrays on {} hold {} bytes; before they held {}",
                                  to_string(all[i]), a.array_bytes, b.array_bytes));
    }
    const Inventory more = surplus(a.owned, b.owned, f.owned);
    if (more.empty()) continue;
    found.push_back(
        fmt::format("more is owned on {} than before: {}", to_string(all[i]), to_string(more)));
  }
  for (const Count& count : counts) {
    const std::size_t a = after.live.*count.number, b = before.live.*count.number;
    if (a <= std::max(b, forgiven.live.*count.number)) continue;
    found.push_back(fmt::format("fake driver: {} {}; before there were {}", a, count.what, b));
  }
  const bool is_closed = kind() == Kind::cpu && !after.context;
  if (before.context && after.context != before.context && !is_closed) {
    found.push_back(fmt::format("the current CUDA context is {}; before it was {}",
                                fmt::ptr(after.context), fmt::ptr(before.context)));
  }
  return found;
}

}  // namespace quarry::test
