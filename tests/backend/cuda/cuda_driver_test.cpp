// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver/driver.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/cuda/status.hpp"
#include "fake_driver/shim.hpp"

namespace quarry::backend::cuda {
namespace {

/// What the driver of these tests lacks, and what it says.
std::string missing;
CUresult init_result = CUDA_SUCCESS;
int device_count = 1;

CUresult succeed() { return CUDA_SUCCESS; }
CUresult init(unsigned) { return init_result; }
CUresult version(int* v) { return *v = 12040, CUDA_SUCCESS; }
CUresult count(int* n) { return *n = device_count, CUDA_SUCCESS; }
CUresult error_name(CUresult, const char** name) { return *name = "CUDA_ERROR_NAME", CUDA_SUCCESS; }

template <class F>
void* erased(F* f) {
  return reinterpret_cast<void*>(f);
}

CUresult get(const char* symbol, void** function, int, cuuint64_t,
             CUdriverProcAddressQueryResult* r) {
  const std::string name = symbol;
  *r = name == missing ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  *function = name == missing                ? nullptr
              : name == "cuInit"             ? erased(init)
              : name == "cuDriverGetVersion" ? erased(version)
              : name == "cuDeviceGetCount"   ? erased(count)
              : name == "cuGetErrorName"     ? erased(error_name)
                                             : erased(succeed);
  return CUDA_SUCCESS;
}

class cuda_driver : public ::testing::Test {
 protected:
  void SetUp() override {
    missing.clear();
    init_result = CUDA_SUCCESS;
    device_count = 1;
  }
};

TEST_F(cuda_driver, an_absent_library_is_a_reason) {
  const LoadedDriver loaded = load_driver("libquarry_no_such_driver.so.1");
  EXPECT_FALSE(loaded.table);
  EXPECT_NE(loaded.why.find("libquarry_no_such_driver.so.1"), std::string::npos);
}

TEST_F(cuda_driver, a_library_that_is_no_driver_is_a_reason) {
  const LoadedDriver loaded = load_driver("libm.so.6");
  EXPECT_FALSE(loaded.table);
  EXPECT_NE(loaded.why.find("cuGetProcAddress"), std::string::npos);
}

TEST_F(cuda_driver, a_missing_entry_point_is_named_with_its_version) {
  missing = "cuLaunchHostFunc";
  const LoadedDriver loaded = load_driver(get);
  EXPECT_FALSE(loaded.table);
  EXPECT_NE(loaded.why.find("cuLaunchHostFunc"), std::string::npos);
  EXPECT_NE(loaded.why.find("CUDA 10.0"), std::string::npos);
}

TEST_F(cuda_driver, a_missing_optional_entry_point_is_null) {
  missing = "cuDeviceGetUuid";
  const LoadedDriver loaded = load_driver(get);
  ASSERT_TRUE(loaded.table);
  EXPECT_FALSE(loaded.table->DeviceGetUuid);
  EXPECT_TRUE(loaded.table->MemAlloc);
}

TEST_F(cuda_driver, every_code_of_a_failing_start_has_its_sentence) {
  const LoadedDriver loaded = load_driver(get);
  std::vector<std::string> sentences;
  for (const int code : {3, 34, 100, 802, 803, 804, 999}) {
    init_result = static_cast<CUresult>(code);
    const DriverStatus status = probe(*loaded.table);
    EXPECT_FALSE(status.available);
    EXPECT_EQ(status.error, "CUDA_ERROR_NAME (" + std::to_string(code) + ")");
    EXPECT_EQ(status.devices, 0);
    EXPECT_EQ(status.version, 12040);
    for (const std::string& other : sentences) EXPECT_NE(status.why, other);
    sentences.push_back(status.why);
  }
}

TEST_F(cuda_driver, no_device_is_a_reason_without_an_error) {
  const LoadedDriver loaded = load_driver(get);
  device_count = 0;
  const DriverStatus status = probe(*loaded.table);
  EXPECT_FALSE(status.available);
  EXPECT_FALSE(status.why.empty());
  EXPECT_TRUE(status.error.empty());
  device_count = 2;
  EXPECT_TRUE(probe(*loaded.table).available);
}

TEST_F(cuda_driver, missing_compilers_are_all_named) {
  const char* const libraries[] = {"libquarry_none.so.1", "libm.so.6"};
  const LoadedNvrtc loaded = load_nvrtc(libraries);
  EXPECT_FALSE(loaded.table);
  EXPECT_NE(loaded.why.find("libquarry_none.so.1"), std::string::npos);
  EXPECT_NE(loaded.why.find("libm.so.6 has no nvrtcVersion"), std::string::npos);
}

TEST_F(cuda_driver, compilers_are_looked_for_by_soname_or_absolute_path) {
  for (const std::string name : nvrtc_libraries()) {
    EXPECT_TRUE(name.front() == '/' || name.find('/') == name.npos) << name;
  }
}

TEST_F(cuda_driver, fatal_codes_lose_the_device_and_others_do_not) {
  for (const int code : {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911}) {
    EXPECT_TRUE(is_fatal(static_cast<CUresult>(code))) << code;
  }
  for (const int code : {0, 1, 2, 100, 201, 400, 600, 701, 709, 801, 999}) {
    EXPECT_FALSE(is_fatal(static_cast<CUresult>(code))) << code;
  }
}

template <class E>
void expect_raises(CUresult code) {
  try {
    check(code);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("(" + std::to_string(code) + ")"), std::string::npos) << text;
    EXPECT_NE(text.find("cuda_driver_test.cpp:"), std::string::npos) << text;
  }
}

TEST_F(cuda_driver, codes_become_typed_exceptions_with_their_place) {
  if (!driver_status().available) GTEST_SKIP() << "no driver on this device";
  EXPECT_NO_THROW(check(CUDA_SUCCESS));
  expect_raises<MemoryError>(CUDA_ERROR_OUT_OF_MEMORY);
  for (const int code : {1, 101, 200, 201, 300, 400, 500, 704, 705, 709, 712, 713, 800, 801}) {
    expect_raises<LogicError>(static_cast<CUresult>(code));
  }
  for (const int code : {701, 703, 720, 912}) {
    expect_raises<LaunchError>(static_cast<CUresult>(code));
  }
  expect_raises<BackendUnavailable>(CUDA_ERROR_DEVICE_UNAVAILABLE);
  for (const int code : {209, 222, 301, 304, 600, 999}) {
    expect_raises<RuntimeError>(static_cast<CUresult>(code));
  }
  EXPECT_THROW(check_launch(CUDA_ERROR_INVALID_VALUE), LaunchError);
}

TEST_F(cuda_driver, a_kernel_that_fails_while_it_runs_is_a_launch_error_that_loses_the_device) {
  if (!driver_status().available) GTEST_SKIP() << "no driver on this device";
  int device = 230;  // of no other test
  for (const int code : {214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721}) {
    const bool is_kernel = code >= 700;
    set_checked_device(++device);
    for (int time = 0; time < 2; ++time) {  // seen in a call, and by every later one
      try {
        time ? require_alive(device) : check(static_cast<CUresult>(code));
        ADD_FAILURE() << "nothing was thrown";
      } catch (const LaunchError& e) {
        EXPECT_TRUE(is_kernel) << code;
        EXPECT_TRUE(dynamic_cast<const DeviceLost*>(&e)) << code;
        EXPECT_NE(std::string(e.what()).find("(" + std::to_string(code)), std::string::npos);
      } catch (const DeviceLost&) {
        EXPECT_FALSE(is_kernel) << code;
      }
    }
    EXPECT_THROW(require_alive(device), Error) << code;
    EXPECT_THROW(require_alive(device), RuntimeError) << code;
    EXPECT_THROW(require_alive(device), std::exception) << code;
  }
  set_checked_device(0);
}

TEST_F(cuda_driver, the_first_fatal_code_of_a_device_stays) {
  if (!driver_status().available) GTEST_SKIP() << "no driver on this device";
  constexpr int device = 255;  // of no other test
  set_checked_device(device);
  EXPECT_NO_THROW(require_alive(device));
  expect_raises<DeviceLost>(CUDA_ERROR_ILLEGAL_ADDRESS);
  note(CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(is_lost(device));
  EXPECT_FALSE(is_lost(device - 1));
  try {
    require_alive(device);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceLost& e) {
    EXPECT_NE(std::string(e.what()).find("(700)"), std::string::npos) << e.what();
  }
  set_checked_device(0);
}

}  // namespace
}  // namespace quarry::backend::cuda
