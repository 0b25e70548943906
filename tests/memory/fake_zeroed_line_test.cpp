// SPDX-License-Identifier: BSD-3-Clause
#include "memory/zeroed_line.hpp"

#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fake_driver/shim.hpp"
#include "memory/idle_fake.hpp"

namespace quarry {
namespace {

using backend::cuda::DriverFunction;
namespace shim = backend::cuda::shim;

class FakeZeroedLine : public OverIdleFake {
 protected:
  static std::vector<std::uint8_t> bytes_of(const std::shared_ptr<Buffer>& line, const Stream& s) {
    const DeviceNDArray<std::uint8_t> array(Layout{{256}, {1}}, line->data(), line);
    return array.bind(s).copy_to_host<std::vector<std::uint8_t>>();
  }
};

TEST_F(FakeZeroedLine, IsZeroInTheStreamThatAskedForIt) {
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  for (const Stream& of : {s, t}) {
    EXPECT_EQ(bytes_of(memory::new_zeroed_line(of), of), std::vector<std::uint8_t>(256, 0));
  }
}

TEST_F(FakeZeroedLine, NothingIsLeftOfMemoryThatCannotBeCleared) {
  const Stream s = stream({.non_blocking = true});
  const auto before = shim::live();
  for (const DriverFunction call :
       {DriverFunction::MemsetD8Async, DriverFunction::StreamSynchronize}) {
    shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = call});
    EXPECT_THROW(memory::new_zeroed_line(s), Error);
    shim::clear_faults();
    EXPECT_EQ(shim::live(), before);
  }
  EXPECT_EQ(bytes_of(memory::new_zeroed_line(s), s), std::vector<std::uint8_t>(256, 0));
}

}  // namespace
}  // namespace quarry
