// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "backend/cuda/driver/driver.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"

/// Streams and events that other libraries have made, with what ends them.
namespace quarry {
namespace {

using backend::cuda::driver;

class External : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "the CPU has none";
    require_context();
  }
  static CUstream make_stream() {
    CUstream made = nullptr;
    EXPECT_EQ(driver().StreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return made;
  }
  static CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent made = nullptr;
    EXPECT_EQ(driver().EventCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  template <class T>
  static std::uintptr_t number(T* handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
  }

  int ends = 0;
};

TEST_F(External, StreamsEndWithTheirLastHandle) {
  const CUstream made = make_stream();
  {
    const Stream s = external_stream(number(made), [&, made] {
      ++ends;
      EXPECT_EQ(driver().StreamDestroy(made), CUDA_SUCCESS);
    });
    const Stream copy = s;
    EXPECT_TRUE(s.is_external());
    EXPECT_EQ(s.handle(), number(made));
    EXPECT_TRUE(external_stream(number(made)) == s);
    EXPECT_EQ(sum(ones<int>({1000}, {.stream = s})).item(), 1000);
    EXPECT_EQ(ends, 0);
  }
  synchronize();  // an array's memory may have kept the stream
  EXPECT_EQ(ends, 1);
}

TEST_F(External, StreamsAreKeptByArrays) {
  const CUstream made = make_stream();
  std::optional<DeviceNDArray<int>> array;
  {
    const Stream s = external_stream(number(made), [&, made] {
      ++ends;
      EXPECT_EQ(driver().StreamDestroy(made), CUDA_SUCCESS);
    });
    array.emplace(ones<int>({10}, {.stream = s}));
  }
  EXPECT_EQ(ends, 0);
  EXPECT_EQ(sum(*array).item(), 10);
  array.reset();
  synchronize();
  EXPECT_EQ(ends, 1);
}

TEST_F(External, StreamsMayEndWhileTheyWork) {
  const CUstream made = make_stream();
  const auto a = zeros<int>({1000});
  synchronize();
  {
    const Stream gate_stream = stream({.non_blocking = true});
    test::Gate gate(gate_stream);
    {
      const Stream s = external_stream(number(made), [&, made] {
        ++ends;
        EXPECT_EQ(driver().StreamDestroy(made), CUDA_SUCCESS);
      });
      s.wait_event(gate_stream.record());
      a.bind(s).fill(7);
    }
    EXPECT_EQ(ends, 1);
    gate.open();
  }
  synchronize();
  EXPECT_EQ(sum(a).item(), 7000);
}

TEST_F(External, StreamsHaveOneFinalizer) {
  const Stream mine = stream();
  const Stream known = external_stream(mine.handle());
  EXPECT_THROW(external_stream(mine.handle(), [&] { ++ends; }), LogicError);
  EXPECT_THROW(external_stream(1, [&] { ++ends; }), LogicError);
  EXPECT_THROW(external_stream(2, [&] { ++ends; }), LogicError);
  EXPECT_THROW(external_stream(mine.handle(), nullptr), LogicError);
  EXPECT_EQ(ends, 0);
}

TEST_F(External, StreamsTakeCopiesWhoseTimeEventsTell) {
  const CUstream made = make_stream();
  {
    const Stream s = external_stream(number(made));
    const std::vector<double> host(32, 1.5);
    const Event begin, end;
    begin.record(s);
    const auto a = to_device(host, s);
    end.record(s);
    end.wait(s);
    end.synchronize();
    EXPECT_GE(event_elapsed_time(begin, end), 0.f);
    std::vector<double> back(32);
    a.copy_to_host(back, s);
    s.synchronize();
    EXPECT_EQ(back, host);
  }
  synchronize();
  EXPECT_EQ(driver().StreamDestroy(made), CUDA_SUCCESS);
}

TEST_F(External, EventsAreUsedAndNotDestroyed) {
  const CUevent made = make_event();
  {
    const Event e = external_event(number(made));
    EXPECT_TRUE(e.is_external());
    EXPECT_EQ(e.handle(), number(made));
    EXPECT_TRUE(e.query());
    const Stream s = stream();
    e.record(s);
    EXPECT_TRUE(e.synchronize().query());
    const Event later;
    later.record(s).synchronize();
    EXPECT_GE(e.time_till(later), 0.f);
  }
  EXPECT_EQ(driver().EventQuery(made), CUDA_SUCCESS);
  EXPECT_EQ(driver().EventDestroy(made), CUDA_SUCCESS);
}

TEST_F(External, EventsOrderStreams) {
  const CUevent made = make_event(CU_EVENT_DISABLE_TIMING);
  const Event e = external_event(number(made), [&, made] {
    ++ends;
    EXPECT_EQ(driver().EventDestroy(made), CUDA_SUCCESS);
  });
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  const auto a = zeros<int>({1000});
  synchronize();
  {
    test::Gate gate(s);
    a.bind(s).fill(3);
    e.record(s);
    EXPECT_FALSE(e.query());
    e.wait(t);
  }
  EXPECT_EQ(sum(a.bind(t)).item(), 3000);
  EXPECT_THROW(e.elapsed_time(e), LogicError);  // made without timing
}

TEST_F(External, EventsEndWithTheirLastHandle) {
  const CUevent made = make_event();
  {
    const Event e = external_event(number(made), [&, made] {
      ++ends;
      EXPECT_EQ(driver().EventDestroy(made), CUDA_SUCCESS);
    });
    const Event copy = e;
    copy.record();
  }
  EXPECT_EQ(ends, 1);
  EXPECT_THROW(external_event(0), LogicError);
}

TEST_F(External, EventsOfTheLibraryHaveHandles) {
  const Event mine;
  EXPECT_FALSE(mine.is_external());
  const Event seen = external_event(mine.handle());
  seen.record();
  EXPECT_TRUE(mine.synchronize().query());
}

TEST(ExternalEvent, IsRefusedOnTheCpu) {
  const DeviceGuard guard(Device::cpu());
  EXPECT_THROW(external_event(0x1000), LogicError);
  EXPECT_THROW(external_stream(0x1000, [] {}), LogicError);
}

}  // namespace
}  // namespace quarry
