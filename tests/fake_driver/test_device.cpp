// SPDX-License-Identifier: BSD-3-Clause
#include "test_device.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/runtime/stream.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/shim.hpp"
#include "fake_driver.hpp"
#include "memory/staging_ring.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::test {
namespace {

namespace shim = backend::cuda::shim;

Kind kind_from_environment() {
  const char* const text = getenv("QUARRY_TEST_DEVICE");
  const std::string_view name = text ? text : "";
  if (name == "fake") return Kind::fake;
  return name == "cuda" ? Kind::cuda : Kind::cpu;
}

/// Images of the fake compiler must never be found by a real driver.
std::string make_cache_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "quarry-fake-XXXXXX").string();
  if (!mkdtemp(path.data())) return {};
  setenv("QUARRY_CACHE_DIR", path.c_str(), 1);
  return path;
}

/// What the library keeps for the next use is given back; what is queued is done.
void settle() {
  if (kind() == Kind::fake) {
    shim::clear_faults();
    fake::set_compiler({});
    fake::run_pending();
  }
  detail::drop_finished_callbacks();
  std::vector<Device> devices{Device::cpu()};
  for (const auto& gpu : backend::cuda_devices()) devices.emplace_back(*gpu);
  for (const Device& device : devices) {
    try {
      if (device.is_cpu()) device.synchronize();
      memory::trim_staging(device.backend());
      detail::trim_host_memory(device);
      trim_pool(device);
    } catch (const Error&) {  // a device that a test has lost gives nothing back
    }
  }
}

std::size_t active_bytes() {
  std::size_t bytes = pool_statistics(Device::cpu()).active_bytes;
  for (const auto& device : backend::cuda_devices()) {
    bytes += pool_statistics(Device(*device)).active_bytes;
  }
  return bytes;
}

/// What a test finds, and has to leave.
struct Standing {
  std::size_t active = 0;
  fake::Live live;

  static Standing now() {
    settle();
    return {active_bytes(), kind() == Kind::fake ? fake::live() : fake::Live()};
  }
};
struct Forgiven {
  fake::Live live;
  std::size_t active = 0;
};
Forgiven& forgiven() {
  static Forgiven all;
  return all;
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
    {"host memory that is still registered", &fake::Live::registrations},
    {"blocks of managed memory", &fake::Live::managed_blocks},
    {"CUDA arrays that nobody has destroyed", &fake::Live::arrays},
    {"memory of other processes that is still open", &fake::Live::imported},
};
void expect_at_most(const fake::Live& live, const fake::Live& before) {
  for (const Count& count : counts) {
    EXPECT_LE(live.*count.number, std::max(before.*count.number, forgiven().live.*count.number))
        << count.what;
  }
}

class Watch : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    before_ = Standing::now();
    fake::take_faults();
  }
  void OnTestEnd(const testing::TestInfo&) override {
    const Standing after = Standing::now();
    for (const std::string& fault : fake::take_faults()) ADD_FAILURE() << "fake driver: " << fault;
    EXPECT_LE(after.active, std::max(before_.active, forgiven().active))
        << "bytes that arrays hold after the test";
    expect_at_most(after.live, before_.live);
    EXPECT_EQ(to_string(Device()), kind() == Kind::cpu ? "cpu" : "cuda:0") << "current device";
    EXPECT_TRUE(current_stream() == default_stream()) << "another current stream than before";
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

 public:
  explicit Watch(std::string directory) : directory_(std::move(directory)) {}

 private:
  std::string directory_;
  Standing before_;
};

/// Also what test suites make.
class Handles : public testing::Environment {
  void TearDown() override {
    settle();
    if (kind() == Kind::fake) expect_at_most(fake::live(), {});
  }
};

[[maybe_unused]] const bool is_chosen = [] {
  std::string directory;
  switch (kind()) {
    case Kind::cpu:
      setenv("QUARRY_DEVICE", "cpu", 1);
      break;
    case Kind::cuda:
      setenv("QUARRY_DEVICE", "cuda:0", 1);
      break;
    case Kind::fake: {
      setenv("QUARRY_DEVICE", "cuda:0", 1);
      directory = make_cache_directory();
      fake::install();
    }
  }
  testing::UnitTest::GetInstance()->listeners().Append(new Watch(directory));
  testing::AddGlobalTestEnvironment(new Handles);
  return true;
}();

}  // namespace

Kind kind() {
  static const Kind chosen = kind_from_environment();
  return chosen;
}

void forgive_leaks() {
  if (kind() == Kind::fake) forgiven() = {fake::live(), active_bytes()};
}

}  // namespace quarry::test
