// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include <cstdlib>
#include <string_view>

#include <quarry/base/error.hpp>

#include "fake_driver/shim.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

bool has_been_installed = false;

Behaviour behaviour_from_environment() {
  Behaviour behaviour;
  if (const char* const seed = std::getenv("QUARRY_FAKE_SEED")) {
    behaviour.seed = std::strtoull(seed, nullptr, 10);
  }
  const char* const background = std::getenv("QUARRY_FAKE_BACKGROUND");
  behaviour.background = background && std::string_view(background) == "1";
  return behaviour;
}

Machine machine_from_environment(Machine machine) {
  if (const char* const devices = std::getenv("QUARRY_FAKE_DEVICES")) {
    machine.devices.resize(static_cast<std::size_t>(std::atoi(devices)));
  }
  if (const char* const context = std::getenv("QUARRY_FAKE_CONTEXT")) {
    machine.context = static_cast<CUresult>(std::atoi(context));
  }
  if (const char* const capability = std::getenv("QUARRY_FAKE_CC")) {  // "80" is 8.0
    const int number = std::atoi(capability);
    for (DeviceOptions& device : machine.devices) {
      device.compute_capability = {number / 10, number % 10};
    }
  }
  return machine;
}

}  // namespace

void install(const Machine& machine) {
  set_machine(machine_from_environment(machine));
  set_behaviour(behaviour_from_environment());
  backend::cuda::LoadedDriver loaded = backend::cuda::load_driver(get_proc_address);
  if (!loaded.table) throw BackendUnavailable(loaded.why);
  const auto* const table = loaded.table.release();  // lives to the end of the process
  backend::cuda::use_driver(&backend::cuda::shim::over(*table));
  backend::cuda::use_nvrtc(&nvrtc_table());
  backend::cuda::use_nvjitlink(&nvjitlink_table());
  pthread_atfork(nullptr, nullptr, [] { state().memory.part_from_parent(); });
  has_been_installed = true;
}

bool is_installed() { return has_been_installed; }

}  // namespace quarry::fake
