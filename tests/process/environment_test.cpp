// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <quarry/runtime/device.hpp>

#include "backend/chosen_device.hpp"
#include "process/child.hpp"
#include "temporary_folder.hpp"

/// Every environment variable with every kind of value: what cannot be understood is refused by
/// name and value at the first use, whatever the program uses first.
namespace quarry::test {
namespace {

enum class Expected { right, refused, unavailable };

struct Row {
  const char* variable;
  std::vector<const char*> values;
  Expected expected;
};

/// Nearly as long as the system takes.
const std::string longest_text(100'000, 'x');
const char* const longest = longest_text.c_str();

const std::vector<Row> rows = {
    {"QUARRY_NUM_THREADS", {"1", "2", "100000", ""}, Expected::right},
    {"QUARRY_NUM_THREADS",
     {"abc", "-3", "0", "1.5", "2 ", " 2", "+1", "0x2", "99999999999999999999"},
     Expected::refused},
    {"QUARRY_MEMORY", {"pool", "driver_pool", "device", ""}, Expected::right},
    {"QUARRY_MEMORY", {"heap", "Pool", "pool,device", "1"}, Expected::refused},
    {"QUARRY_LOG", {"transfer", ""}, Expected::right},
    {"QUARRY_LOG", {"xyz", "TRANSFER", "transfers", "transfer,xyz", "1"}, Expected::refused},
    {"QUARRY_CACHE_SIZE", {"0", "1000000", ""}, Expected::right},
    {"QUARRY_CACHE_SIZE",
     {"abc", "-1", "10x", "1e6", "256M", "99999999999999999999"},
     Expected::refused},
    {"QUARRY_CHECK", {"0", "1", ""}, Expected::right},
    {"QUARRY_CHECK", {"yes", "2", "-1", "on"}, Expected::refused},
    {"QUARRY_NVTX", {"0", "1", ""}, Expected::right},
    {"QUARRY_NVTX", {"yes", "2", "-1", "on"}, Expected::refused},
    {"QUARRY_DISABLE_CACHE", {"0", "1", ""}, Expected::right},
    {"QUARRY_DISABLE_CACHE", {"yes", "true", "2", "-1", "01"}, Expected::refused},
    {"QUARRY_DEFAULT_PTX_CC", {"9.0", "12.1", ""}, Expected::right},
    {"QUARRY_DEFAULT_PTX_CC",
     {"90", "9.", ".0", "9.0a", "-9.0", "9.0.1", "nine"},
     Expected::refused},
    {"QUARRY_TEST_DEFAULT", {"cpu"}, Expected::right},
    {"QUARRY_TEST_DEFAULT",
     {"fast", "CPU", "cuda:", "cuda:x", "cuda:0x", "cuda: 0", "cuda:1.5", "0",
      "cuda:99999999999999999999", "%s%n{}", "\xff\xfe"},
     Expected::refused},
    {"QUARRY_TEST_DEFAULT", {longest}, Expected::refused},
    {"QUARRY_TEST_DEFAULT", {"cuda:700", "cuda:2147483647"}, Expected::unavailable},
};

std::string outcome_of(std::map<std::string, std::string> settings,
                       const char* program = "SaysHowItGoes") {
  settings.emplace("HOME", "/nonexistent");
  settings.emplace("CUDA_DEVICE", "");
  const Outcome outcome = run_command(command_of(program), settings);
  EXPECT_EQ(outcome.ending, Ending{}) << to_string(outcome.ending) << outcome.output;
  const auto at = outcome.output.find("outcome: ");
  return at == std::string::npos ? outcome.output : outcome.output.substr(at + 9);
}

void expect(Expected expected, const std::string& outcome, const std::string& name,
            const std::string& value) {
  SCOPED_TRACE(name + "=\"" + value + "\": " + outcome);
  const char* const begin[] = {"right", "refused", "unavailable"};
  EXPECT_TRUE(outcome.starts_with(begin[static_cast<int>(expected)]));
  if (expected == Expected::right) return;
  EXPECT_NE(outcome.find(name), std::string::npos);
  EXPECT_NE(outcome.find(value), std::string::npos);
}

class Environment : public testing::TestWithParam<Row> {};

TEST_P(Environment, NonsenseIsRefusedByNameAndValue) {
  const Row& row = GetParam();
  const std::string variable = row.variable;
  for (const char* value : row.values) {
    expect(row.expected, outcome_of({{variable, value}}),
           variable == "QUARRY_TEST_DEFAULT" ? "QUARRY_DEVICE" : variable, value);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Environment, testing::ValuesIn(rows), [](const auto& info) {
  return std::to_string(info.index) + std::string(info.param.variable);
});

const std::vector<std::pair<std::string, Expected>> numbers = {
    {"one", Expected::refused},     {"0x", Expected::refused},
    {"1.0", Expected::refused},     {"99999999999999999999", Expected::refused},
    {"700", Expected::unavailable}, {"2147483647", Expected::unavailable},
    {"cuda:0", Expected::refused},
};

TEST(Environment, NumbersOfGpusComeFromAVariable) {
  for (const auto& [value, expected] : numbers) {
    expect(expected, outcome_of({{"QUARRY_TEST_DEFAULT", ""}, {"CUDA_DEVICE", value}}),
           "CUDA_DEVICE", value);
  }
}

TEST(Environment, NumbersOfGpusComeFromAFile) {
  const test::TemporaryFolder folder;
  const std::string home = folder.path();
  for (const auto& [value, expected] : numbers) {
    std::ofstream(home + "/.cuda-device") << value;
    expect(expected, outcome_of({{"QUARRY_TEST_DEFAULT", ""}, {"HOME", home}}), ".cuda-device",
           value);
  }
  std::ofstream(home + "/.cuda-device") << "";
  EXPECT_TRUE(outcome_of({{"QUARRY_TEST_DEFAULT", ""}, {"HOME", home}}).starts_with("right"));
}

TEST(Environment, ADeviceThatIsNamedAndBusyIsAnErrorAndOneThatIsNotNamedIsNotChosen) {
  if (backend::test::is_on_cpu()) GTEST_SKIP() << "wants the fake driver";
  if (std::string(std::getenv("QUARRY_TEST_DEVICE")) != "fake") GTEST_SKIP() << "as above";
  for (const char* code : {"46", "2", "999"}) {
    const auto with = [&](const char* name, const char* value) {
      std::map<std::string, std::string> settings{{"QUARRY_FAKE_CONTEXT", code},
                                                  {"QUARRY_TEST_DEFAULT", ""}};
      settings[name] = value;
      return outcome_of(settings);
    };
    expect(Expected::unavailable, with("QUARRY_TEST_DEFAULT", "cuda:1"), "QUARRY_DEVICE", "cuda:1");
    expect(Expected::unavailable, with("CUDA_DEVICE", "0"), "CUDA_DEVICE", code);
    EXPECT_TRUE(with("CUDA_DEVICE", "").starts_with("right on cpu")) << code;
  }
}

TEST(Environment, TheDefaultContextIsOfTheCpuOnlyIfThatIsNamed) {
  const auto with = [](std::map<std::string, std::string> settings) {
    settings.emplace("QUARRY_TEST_DEFAULT", "");
    return outcome_of(settings, "SaysWhichContextIsDefault");
  };
  EXPECT_TRUE(with({{"QUARRY_TEST_DEFAULT", "cpu"}}).starts_with("right on cpu\nagain: the same"));
  EXPECT_TRUE(with({{"CUDA_DEVICE", "700"}}).starts_with("unavailable, CUDA_DEVICE"));
  const std::string unasked = with({});
  EXPECT_TRUE(unasked.starts_with(is_available() ? "right on cuda:0" : "unavailable")) << unasked;
  if (std::string(std::getenv("QUARRY_TEST_DEVICE")) != "fake") return;
  const std::string busy = with({{"QUARRY_FAKE_CONTEXT", "46"}});
  EXPECT_TRUE(busy.starts_with("unavailable, no GPU can be used: all are busy")) << busy;
}

TEST(Environment, OptionsOfTheCompilerAreWords) {
  const std::string text = outcome_of({{"QUARRY_NVRTC_FLAGS", "  -DA=1   --use_fast_math "}});
  EXPECT_NE(text.find("option: '-DA=1'\noption: '--use_fast_math'\n"), text.npos) << text;
  EXPECT_EQ(outcome_of({{"QUARRY_NVRTC_FLAGS", ""}}).find("option:"), std::string::npos);
}

TEST(Environment, OperationsAreShownIfAskedFor) {
  if (!std::getenv("NVTX_INJECTION64_PATH")) GTEST_SKIP() << "ctest sets it: memory/ranges.hpp";
  const auto says = [](const char* value, const char* text) {
    return outcome_of({{"QUARRY_NVTX", value}}).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("1", "annotations: on"));
  EXPECT_TRUE(says("0", "annotations: off"));
  EXPECT_TRUE(says("", "annotations: off"));
}

TEST(Environment, ANegativeNumberIsNoGpu) {
  const std::string outcome = outcome_of({{"QUARRY_TEST_DEFAULT", ""}, {"CUDA_DEVICE", "-1"}});
  expect(is_available() ? Expected::refused : Expected::unavailable, outcome, "CUDA_DEVICE", "-1");
}

}  // namespace
}  // namespace quarry::test
