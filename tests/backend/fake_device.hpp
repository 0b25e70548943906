// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu_layouts.hpp"
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

/// The words of a parameter block: its head, the pointers, one double as scalar if any, then the
/// rest.
class Block {
 public:
  Block& add(std::int64_t value) {
    words_.push_back(static_cast<std::uint64_t>(value));
    return *this;
  }
  Block& add(const void* pointer) {
    words_.push_back(test::word(pointer));
    return *this;
  }
  Block& add(const test::Extents& values) {
    for (const auto value : values) add(value);
    return *this;
  }
  template <class T>
  Block& scalar(T value) {
    const auto words = test::scalar_words(value);
    words_.insert(words_.end(), words.begin(), words.end());
    return *this;
  }
  Words words() const {
    Words result(words_.size());
    std::memcpy(result.data(), words_.data(), 8 * words_.size());
    return result;
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace quarry::backend
