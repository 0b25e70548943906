// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/cpu_layouts.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// The CUDA backend over the fake driver.
namespace quarry::backend {

class OverFake : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
    previous_ = fake::behaviour();
  }
  void TearDown() override {
    if (test::kind() == test::Kind::fake) fake::set_behaviour(previous_);
  }
  static Device& gpu() { return *cuda_devices().at(0); }
  static void behave(std::uint64_t seed, double eagerness = 0.25) {
    fake::set_behaviour({.seed = seed, .eagerness = eagerness});
  }

 private:
  fake::Behaviour previous_;
};

/// Device memory with a copy of a vector in it.
template <class T>
class OnDevice {
 public:
  OnDevice(Device& device, const std::vector<T>& values)
      : device_(device),
        size_(values.size()),
        memory_(device.allocate(bytes()), {&device, bytes()}) {
    if (!memory_) throw std::bad_alloc();
    device.copy({Direction::host_to_device, data(), values.data(), bytes()}, nullptr, true);
  }

  std::size_t bytes() const { return size_ * sizeof(T); }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::vector<T> values(Stream stream = nullptr) const {
    std::vector<T> result(size_);
    device_.copy({Direction::device_to_host, result.data(), data(), bytes()}, stream, true);
    return result;
  }

 private:
  struct Free {
    Device* device;
    std::size_t bytes;
    void operator()(void* memory) const { device->free(memory, bytes); }
  };
  Device& device_;
  std::size_t size_;
  std::unique_ptr<void, Free> memory_;
};

/// A host operand whose storage has been copied to the device.
template <class T>
struct DeviceOperand {
  DeviceOperand(Device& device, const test::Operand<T>& host)
      : memory(device, host.storage), first(memory.data() + (host.first - host.storage.data())) {}
  OnDevice<T> memory;
  T* first;
};

/// Scratch memory on the device for one call.
class DeviceWorkspace : public Workspace {
 public:
  explicit DeviceWorkspace(Device& device) : device_(device) {}
  DeviceWorkspace(const DeviceWorkspace&) = delete;
  DeviceWorkspace& operator=(const DeviceWorkspace&) = delete;
  ~DeviceWorkspace() { device_.free(memory_, bytes_); }
  void* take(std::size_t bytes) override {
    bytes_ = bytes;
    memory_ = device_.allocate(bytes);
    if (!memory_) throw std::bad_alloc();
    return memory_;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  Device& device_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace quarry::backend
