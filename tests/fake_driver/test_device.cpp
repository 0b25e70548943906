// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/test_device.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include <quarry/runtime/stream.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/standing.hpp"

namespace quarry::test {
namespace {

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

Standing& forgiven() {
  static Standing all;
  return all;
}

/// The thread that watches devices while host functions are pending has an event for a moment: what
/// is a leak is still there later.
void expect_nothing_left(const Standing& before, Standing after) {
  for (int i = 0; i < 50 && !left_behind(before, after, forgiven()).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    after = Standing::now();
  }
  for (const std::string& what : left_behind(before, after, forgiven())) ADD_FAILURE() << what;
}

class Watch : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    before_ = Standing::now();
    fake::take_faults();
  }
  void OnTestEnd(const testing::TestInfo&) override {
    const Standing after = Standing::now();
    for (const std::string& fault : fake::take_faults()) ADD_FAILURE() << "fake driver: " << fault;
    expect_nothing_left(before_, after);
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
    const Standing after = Standing::now();
    Standing before;
    before.context = after.context;
    expect_nothing_left(before, after);
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

void forgive_leaks() { forgiven() = Standing::as_it_is(); }

}  // namespace quarry::test
