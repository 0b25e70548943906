// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/source_text.hpp>

#include <gtest/gtest.h>

#include "array/model.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

/// Kernels whose operations are texts: on the fake driver host functions stand for them.
namespace quarry::test {

class TextKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (kind() == Kind::cpu) GTEST_SKIP() << "kernels from text run on GPUs";
  }
};

/// How many launches the fake driver has seen; 0 on a real one.
inline std::int64_t launches() { return kind() == Kind::fake ? fake::statistics().launches : 0; }

/// The same memory as that of another buffer.
template <class T>
DeviceNDArray<T> adopted(const DeviceNDArray<T>& array) {
  return {array.layout(), array.device_pointer(),
          Buffer::adopt(array.device_pointer(), array.nbytes(), array.stream(),
                        std::make_shared<DeviceNDArray<T>>(array))};
}

/// `count` elements that lie one byte behind aligned ones.
template <class T>
DeviceNDArray<T> misaligned(std::int64_t count) {
  const auto bytes = static_cast<std::int64_t>(sizeof(T)) * count;
  const auto all_bytes = zeros<std::uint8_t>({bytes + 1});
  return all_bytes(range(1, bytes + 1)).template view<T>();
}

/// What the fake driver calls for the text: a function of its arguments.
template <class R, class... A>
void set_on_host(const kernels::source_text& text, R (*function)(A...)) {
  text.host = reinterpret_cast<const void*>(function);
}

/// A view of drawn shape and layout of a new array whose elements are `from` position by position.
template <class T, class F>
Seen<T> drawn(Random& random, std::size_t rank, std::int64_t most, const F& from) {
  const Ints shape = random.shape(rank, most);
  Host<T> host(shape);
  for (std::size_t i = 0; i < host.count(); ++i) host[i] = from(i);
  return random.slice(Seen<T>{to_device(host), whole(shape)});
}

}  // namespace quarry::test
