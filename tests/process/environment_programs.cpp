// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <quarry/quarry.hpp>

#include "process/child.hpp"

namespace quarry::test {
namespace {

/// The test device is set by QUARRY_DEVICE before main, so a test names its own in another
/// variable.
void set_device() {
  const char* const chosen = std::getenv("QUARRY_TEST_DEFAULT");
  if (!chosen) return;
  *chosen ? setenv("QUARRY_DEVICE", chosen, 1) : unsetenv("QUARRY_DEVICE");
}

/// Computes and copies something and says how that went.
int say_how_it_goes() {
  set_device();
  try {
    const Device device = get_current_device();
    const auto a = ones<float>({1 << 20});
    std::vector<float> host(1 << 20);
    DeviceNDArray<float>(a + 1.f).copy_to_host(host);
    std::printf("outcome: %s on %s\n", host[7] == 2 ? "right" : "wrong", to_string(device).c_str());
  } catch (const BackendUnavailable& e) {
    std::printf("outcome: unavailable, %s\n", e.what());
  } catch (const LogicError& e) {
    std::printf("outcome: refused, %s\n", e.what());
  } catch (const Error& e) {
    std::printf("outcome: error, %s\n", e.what());
  }
  return 0;
}

}  // namespace

std::vector<Program> environment_programs() { return {{"SaysHowItGoes", say_how_it_goes}}; }

}  // namespace quarry::test
