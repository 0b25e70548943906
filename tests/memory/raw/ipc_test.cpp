// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/ipc.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <quarry/array/creation.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include "fake_driver/test_device.hpp"
#include "memory/raw/second_process.hpp"

namespace quarry {
namespace {

using test::first_process;
using test::Line;
using test::SecondProcess;

bool is_on_gpu() { return test::kind() != test::Kind::cpu; }

IpcBytes handle_of(const std::vector<std::byte>& message) {
  IpcBytes handle{};
  std::copy_n(message.begin(), handle.size(), handle.begin());
  return handle;
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const LogicError& e) {
    return e.what();
  }
  return "no LogicError";
}

/// An array of four ints that is a whole allocation of the driver.
DeviceNDArray<int> whole_allocation() {
  const ResourceGuard guard(device_resource());
  return to_device({1, 2, 3, 4});
}

TEST(Ipc, TheCpuDeviceSharesNothing) {
  const auto array = to_device({1, 2, 3}, {.device = Device::cpu()});
  EXPECT_THROW(get_ipc_handle(DevicePtr(array)), LogicError);
  EXPECT_THROW(mem_get_ipc_handle(DevicePtr(array)), LogicError);
  EXPECT_THROW(IPCMemoryHandle(IpcBytes{}, Device::cpu()), LogicError);
  const Event event({.timing = false, .device = Device::cpu()});
  EXPECT_THROW(event.ipc_handle(), LogicError);
  EXPECT_THROW(Event::from_ipc_handle(IpcBytes{}, Device::cpu()), LogicError);
}

class IpcMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_gpu()) GTEST_SKIP() << "only GPUs share memory between processes";
  }
};

TEST_F(IpcMemoryTest, AnAddressWithinAnAllocationComesWithItsOffset) {
  const auto array = whole_allocation();
  const IpcMemory start = get_ipc_handle(DevicePtr(array));
  const IpcMemory third = get_ipc_handle(DevicePtr(array) + 8);
  EXPECT_EQ(start.handle, third.handle);
  EXPECT_EQ(third.offset, start.offset + 8);
  EXPECT_GE(start.bytes, 16U);
  EXPECT_EQ(start.device, array.device());
  EXPECT_EQ(mem_get_ipc_handle(DevicePtr(array)), start.handle);
  EXPECT_EQ(mem_get_ipc_handle(array.device_pointer()), start.handle);
  EXPECT_THROW(mem_get_ipc_handle(DevicePtr(array) + 8), LogicError);
}

TEST_F(IpcMemoryTest, OtherKindsOfMemorySayWhatToDo) {
  int local = 0;
  EXPECT_NE(error_of([&] { get_ipc_handle(DevicePtr(&local)); }).find("pageable"),
            std::string::npos);
  for (const Resource& resource : {managed_resource(), mapped_resource(), driver_pool_resource()}) {
    const ResourceGuard guard(resource);
    const auto array = empty<int>({4});
    EXPECT_NE(error_of([&] { get_ipc_handle(DevicePtr(array)); }).find("device_resource"),
              std::string::npos)
        << resource.name();
  }
  EXPECT_THROW(get_ipc_handle(DevicePtr()), LogicError);
}

TEST_F(IpcMemoryTest, BytesThatAreNoHandleAreRefused) {
  IpcBytes junk{};
  EXPECT_THROW(IPCMemoryHandle{junk}, LogicError);
  EXPECT_THROW(Event::from_ipc_handle(junk), Error);
  junk.fill(std::byte{0x5A});
  EXPECT_THROW(IPCMemoryHandle{junk}, LogicError);
  EXPECT_THROW(Event::from_ipc_handle(junk), Error);
}

TEST_F(IpcMemoryTest, TheProcessThatExportsCannotOpen) {
  const auto array = whole_allocation();
  const IpcBytes handle = mem_get_ipc_handle(DevicePtr(array));
  EXPECT_NE(error_of([&] { IPCMemoryHandle{handle}; }).find("process that exported it"),
            std::string::npos);
  const Event event({.timing = false, .interprocess = true});
  EXPECT_THROW(Event::from_ipc_handle(event.ipc_handle()), LogicError);
}

TEST_F(IpcMemoryTest, EventsAreSharedOnlyWhenMadeForIt) {
  EXPECT_THROW(Event({.timing = true, .interprocess = true}), LogicError);
  EXPECT_THROW(Event({.timing = false}).ipc_handle(), LogicError);
  EXPECT_THROW(Event().ipc_handle(), LogicError);
}

/// Gets two handles of one allocation, changes its third element, and says what it saw.
TEST(IpcSecondProcess, OpensMemory) {
  const Line* const line = first_process();
  if (!line) GTEST_SKIP() << "the second process of another test";
  const IpcBytes handle = handle_of(line->receive());
  IPCMemoryHandle memory(handle), again(handle);
  EXPECT_EQ(memory.device_pointer(), again.device_pointer());
  EXPECT_GE(memory.size(), 16U);
  again.close();
  EXPECT_THROW(again.close(), LogicError);
  EXPECT_THROW(again.device_pointer(), LogicError);
  const DeviceNDArray<int> array({{4}, {4}}, memory.device_pointer(), memory.buffer());
  EXPECT_THROW(get_ipc_handle(DevicePtr(array)), LogicError);  // it is not this process's memory
  std::vector<int> seen(4);
  array.copy_to_host(seen);
  line->send_values(seen);
  array[2] = 30;
  memory.close();  // the array keeps the memory
  EXPECT_EQ(array[2].item(), 30);
  line->signal();
}

TEST_F(IpcMemoryTest, TwoProcessesSeeTheSameBytes) {
  const auto array = whole_allocation();
  synchronize();
  const SecondProcess second("IpcSecondProcess.OpensMemory");
  second->send(mem_get_ipc_handle(DevicePtr(array)));
  EXPECT_EQ(second->receive_values<int>(), (std::vector{1, 2, 3, 4}));
  second->wait();
  std::vector<int> seen(4);
  array.copy_to_host(seen);
  EXPECT_EQ(seen, (std::vector{1, 2, 30, 4}));
}

/// Adds one to the int after the event, and records an event of its own.
TEST(IpcSecondProcess, WaitsForTheEvent) {
  const Line* const line = first_process();
  if (!line) GTEST_SKIP() << "the second process of another test";
  const IPCMemoryHandle memory(handle_of(line->receive()));
  const Event ready = Event::from_ipc_handle(handle_of(line->receive()));
  const Event done({.timing = false, .interprocess = true});
  line->send(done.ipc_handle());
  const DeviceNDArray<int> array({{4}, {4}}, memory.device_pointer(), memory.buffer());
  const Stream s = stream({.non_blocking = true});
  for (int round = 0; round < 5; ++round) {
    line->wait();
    ready.wait(s);
    const auto bound = array.bind(s);
    bound[1].assign(bound[0]);
    done.record(s);
    line->signal();
  }
  line->wait();
  s.synchronize();
}

TEST_F(IpcMemoryTest, EventsOrderTheWorkOfTwoProcesses) {
  const auto array = whole_allocation();
  const Event ready({.timing = false, .interprocess = true});
  synchronize();
  const SecondProcess second("IpcSecondProcess.WaitsForTheEvent");
  second->send(mem_get_ipc_handle(DevicePtr(array)));
  second->send(ready.ipc_handle());
  const Event done = Event::from_ipc_handle(handle_of(second->receive()));
  const Stream s = stream({.non_blocking = true});
  const auto bound = array.bind(s);
  for (int round = 0; round < 5; ++round) {
    bound[0].fill(10 * round);
    ready.record(s);
    second->signal();
    second->wait();  // it has recorded: nothing says that anything has run
    done.wait(s);
    std::vector<int> seen(4);
    bound.copy_to_host(seen);
    EXPECT_EQ(seen[1], 10 * round);
  }
  second->signal();
}

}  // namespace
}  // namespace quarry
