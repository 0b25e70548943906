// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"

/// Properties that hold on every kind of device are tested on the one that the program runs on.
namespace quarry::backend::test {

/// Read here, because a build without CUDA has no fake_driver.
inline bool is_on_cpu() {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  return !kind || (std::string_view(kind) != "fake" && std::string_view(kind) != "cuda");
}

inline Device& chosen_device() { return is_on_cpu() ? cpu() : *cuda_devices().at(0); }

/// The default stream or a created one of the chosen device.
class Streams : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { stream_ = GetParam() ? chosen_device().create_stream({}) : nullptr; }
  void TearDown() override {
    if (stream_) chosen_device().destroy_stream(stream_);
  }
  Stream stream_ = nullptr;
};

using Bytes = std::vector<unsigned char>;

inline Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  Bytes bytes(size);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(generator());
  return bytes;
}

/// Device memory that begins with these bytes.
class DeviceBytes {
 public:
  explicit DeviceBytes(const Bytes& bytes, Device& device = chosen_device())
      : device_(device), size_(bytes.size()), memory_(device.allocate(size_)) {
    device_.copy({Direction::host_to_device, memory_, bytes.data(), size_}, nullptr, true);
    device_.synchronize();  // the streams of other devices see the bytes too
  }
  ~DeviceBytes() { device_.free(memory_, size_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  unsigned char* data() const { return static_cast<unsigned char*>(memory_); }
  /// After all that is queued.
  Bytes bytes() const {
    device_.synchronize();
    Bytes result(size_);
    device_.copy({Direction::device_to_host, result.data(), memory_, size_}, nullptr, true);
    return result;
  }

 private:
  Device& device_;
  std::size_t size_;
  void* memory_;
};

}  // namespace quarry::backend::test
