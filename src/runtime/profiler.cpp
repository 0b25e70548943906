// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/profiler.hpp>

#include <exception>
#include <map>
#include <mutex>

#include "backend/profiler.hpp"

namespace quarry {
namespace {

/// How many scopes of each device are open.
struct Scopes {
  std::mutex mutex;
  std::map<backend::Device*, int> open;
  static Scopes& instance() {
    static auto* const scopes = new Scopes;  // scopes may end after main
    return *scopes;
  }
};

}  // namespace

void profile_start(const Device& device) { backend::set_profiling(device.backend(), true); }
void profile_stop(const Device& device) { backend::set_profiling(device.backend(), false); }

Profiling::Profiling(const Device& device) : device_(device) {
  Scopes& scopes = Scopes::instance();
  const std::lock_guard lock(scopes.mutex);
  int& open = scopes.open[&device.backend()];
  if (open == 0) profile_start(device);
  ++open;
}

Profiling::~Profiling() {
  Scopes& scopes = Scopes::instance();
  const std::lock_guard lock(scopes.mutex);
  if (--scopes.open.at(&device_.backend()) > 0) return;
  try {
    profile_stop(device_);
  } catch (const std::exception&) {  // the device is lost, and its recording has ended with it
  }
}

}  // namespace quarry
