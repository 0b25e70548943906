// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <quarry/quarry.hpp>
#include <quarry/runtime/annotation.hpp>

#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "process/child.hpp"

namespace quarry::test {
namespace {

constexpr int wrong_values = 3, driver_was_called = 4;

/// The test device and its kernel cache are set before main, so a test names its own in other
/// variables.
void set(const char* variable, const char* from) {
  const char* const chosen = std::getenv(from);
  if (!chosen) return;
  *chosen ? setenv(variable, chosen, 1) : unsetenv(variable);
}

void say_whence_kernels_came() {
  const KernelCacheStatistics kernels = kernel_cache_statistics();
  std::printf("kernels: %lld compiled, %lld from disk\n", static_cast<long long>(kernels.compiled),
              static_cast<long long>(kernels.disk_hits));
}

/// Computes and copies something and says how that went.
int say_how_it_goes() {
  set("QUARRY_DEVICE", "QUARRY_TEST_DEFAULT");
  set("QUARRY_CACHE_DIR", "QUARRY_TEST_CACHE");
  try {
    const Device device = get_current_device();
    const auto a = ones<float>({1 << 20});
    std::vector<float> host(1 << 20);
    DeviceNDArray<float>(a + 1.f).copy_to_host(host);
    std::printf("outcome: %s on %s\n", host[7] == 2 ? "right" : "wrong", to_string(device).c_str());
    say_whence_kernels_came();
    std::printf("annotations: %s\n", has_annotations() ? "on" : "off");
    for (const std::string& option : CompileOptions{}.options) {
      std::printf("option: '%s'\n", option.c_str());
    }
  } catch (const BackendUnavailable& e) {
    std::printf("outcome: unavailable, %s\n", e.what());
  } catch (const LogicError& e) {
    std::printf("outcome: refused, %s\n", e.what());
  } catch (const Error& e) {
    std::printf("outcome: error, %s\n", e.what());
  }
  return 0;
}

/// The same of a context that is asked for.
int say_which_context_is_default() {
  set("QUARRY_DEVICE", "QUARRY_TEST_DEFAULT");
  try {
    const Device device = make_default_context().device();
    std::printf("outcome: right on %s\n", to_string(device).c_str());
    std::printf("again: %s\n", autoinit().device == device ? "the same" : "another");
  } catch (const BackendUnavailable& e) {
    std::printf("outcome: unavailable, %s\n", e.what());
  } catch (const Error& e) {
    std::printf("outcome: error, %s\n", e.what());
  }
  return 0;
}

/// What is in the environment when a program first uses the library counts, not what was there when
/// it was loaded.
int first_use_finds_the_driver() {
  switch (kind()) {
    case Kind::cpu:
      return 0;
    case Kind::fake:
      if (backend::cuda::shim::calls() != 0) return driver_was_called;
      break;
    case Kind::cuda:
      setenv("CUDA_VISIBLE_DEVICES", "", 1);
      return gpus.empty() ? 0 : driver_was_called;
  }
  return gpus.size() > 0 && backend::cuda::shim::calls() > 0 ? 0 : wrong_values;
}

}  // namespace

std::vector<Program> environment_programs() {
  return {{"FirstUseFindsTheDriver", first_use_finds_the_driver},
          {"SaysHowItGoes", say_how_it_goes},
          {"SaysWhichContextIsDefault", say_which_context_is_default}};
}

}  // namespace quarry::test
