// SPDX-License-Identifier: BSD-3-Clause
#include "test_device.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string_view>

#include <quarry/memory/buffer.hpp>
#include <quarry/memory/pool.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/shim.hpp"
#include "fake_driver.hpp"

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

std::size_t active_bytes() {
  std::size_t bytes = 0;
  for (const auto& device : backend::cuda_devices()) {
    bytes += pool_statistics(Device(*device)).active_bytes;
  }
  return bytes;
}

struct Forgiven {
  fake::Live live;
  std::size_t active = 0;
};
Forgiven& forgiven() {
  static Forgiven all;
  return all;
}

class Watch : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    before_ = active_bytes();
    fake::take_faults();
  }
  void OnTestEnd(const testing::TestInfo&) override {
    shim::clear_faults();
    fake::set_compiler({});
    fake::run_pending();
    for (const std::string& fault : fake::take_faults()) ADD_FAILURE() << "fake driver: " << fault;
    const std::size_t after = active_bytes();
    EXPECT_LE(after, std::max(before_, forgiven().active))
        << "bytes that arrays hold after the test";
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

 public:
  explicit Watch(std::string directory) : directory_(std::move(directory)) {}

 private:
  std::string directory_;
  std::size_t before_ = 0;
};

class Handles : public testing::Environment {
  void TearDown() override {
    try {
      for (const auto& device : backend::cuda_devices()) trim_pool(Device(*device));
    } catch (const Error&) {
      return;  // a device that a test has lost gives nothing back
    }
    const fake::Live live = fake::live(), allowed = forgiven().live;
    EXPECT_LE(live.device_blocks, allowed.device_blocks) << "blocks that nobody has freed";
    EXPECT_LE(live.pool_blocks, allowed.pool_blocks) << "blocks of the driver's pools";
    EXPECT_LE(live.registrations, allowed.registrations) << "host memory that is still registered";
    EXPECT_LE(live.arrays, allowed.arrays) << "CUDA arrays that nobody has destroyed";
    EXPECT_LE(live.imported, allowed.imported) << "memory of other processes that is still open";
    EXPECT_LE(live.streams, allowed.streams) << "streams that nobody has destroyed";
    EXPECT_LE(live.events, allowed.events) << "events that nobody has destroyed";
  }
};

[[maybe_unused]] const bool is_chosen = [] {
  switch (kind()) {
    case Kind::cpu:
      setenv("QUARRY_DEVICE", "cpu", 1);
      break;
    case Kind::cuda:
      setenv("QUARRY_DEVICE", "cuda:0", 1);
      break;
    case Kind::fake: {
      setenv("QUARRY_DEVICE", "cuda:0", 1);
      const std::string directory = make_cache_directory();
      fake::install();
      testing::UnitTest::GetInstance()->listeners().Append(new Watch(directory));
      testing::AddGlobalTestEnvironment(new Handles);
    }
  }
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
