// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_set>

#include "temporary_folder.hpp"

namespace quarry {
namespace {

TEST(Device, TheCpuIsAlwaysThere) {
  const Device cpu = Device::cpu();
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_EQ(cpu.id(), 0);
  EXPECT_FALSE(cpu.name().empty());
  EXPECT_TRUE(cpu.uuid().empty());
  EXPECT_EQ(cpu.compute_capability(), (std::pair{0, 0}));
  EXPECT_EQ(to_string(cpu), "cpu");
  const MemoryInfo memory = cpu.memory_info();
  EXPECT_GT(memory.total, 0u);
  EXPECT_LE(memory.free, memory.total);
  EXPECT_EQ(cpu, Device::cpu());
}

TEST(Device, ParsesItsName) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  for (const char* const bad : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:0x",
                                "cuda: ", "cuda:1e3", "cpu:0", "cuda:99999999999999999999"}) {
    EXPECT_THROW(Device::parse(bad), Error) << bad;
  }
  if (is_available()) {
    EXPECT_EQ(Device::parse("cuda"), Device::cuda(0));
    EXPECT_EQ(Device::parse("cuda:0"), Device::cuda(0));
    EXPECT_THROW(Device::parse("cuda:-1"), IndexError);
    EXPECT_THROW(Device::parse("cuda:4096"), IndexError);
  } else {
    EXPECT_THROW(Device::parse("cuda"), BackendUnavailable);
  }
}

TEST(Device, GpusAreIndexableAndIterable) {
  std::size_t count = 0;
  for (const Device device : gpus) {
    EXPECT_EQ(device.id(), static_cast<int>(count));
    EXPECT_EQ(device, gpus[static_cast<int>(count)]);
    EXPECT_EQ(to_string(device), "cuda:" + std::to_string(count++));
  }
  EXPECT_EQ(count, gpus.size());
  EXPECT_EQ(list_devices().size(), count);
  EXPECT_EQ(gpus.empty(), !is_available());
  const int past = static_cast<int>(count);
  if (count > 0) {
    EXPECT_THROW(gpus[past], IndexError);
    EXPECT_THROW(gpus[-1], IndexError);
    EXPECT_THROW(select_device(past), IndexError);
    EXPECT_TRUE(why_unavailable().empty());
    EXPECT_GT(driver_version().first, 0);
  } else {
    EXPECT_THROW(gpus[0], BackendUnavailable);
    EXPECT_THROW(select_device(0), BackendUnavailable);
    EXPECT_FALSE(why_unavailable().empty());
  }
}

TEST(Device, KnowsWhatAGpuIs) {
  for (const Device gpu : gpus) {
    EXPECT_FALSE(gpu.is_cpu());
    EXPECT_GE(gpu.compute_capability().first, 1);
    EXPECT_TRUE(
        std::regex_match(gpu.uuid(), std::regex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")))
        << gpu.uuid();
    EXPECT_EQ(gpu.attribute("WARP_SIZE"), 32);
    EXPECT_GT(gpu.attributes().size(), 20u);
    EXPECT_THROW(gpu.attribute("NO_SUCH_THING"), LogicError);
    EXPECT_FALSE(gpu.can_access_peer(Device::cpu()));
  }
  EXPECT_THROW(Device::cpu().attribute("NO_SUCH_THING"), LogicError);
}

TEST(Device, AnAttributeHasAnEnumeratorAndNames) {
  for (const Device device : {get_current_device(), Device::cpu()}) {
    const auto all = device.attributes();
    EXPECT_EQ(device.attribute(DeviceAttribute::warp_size), device.is_cpu() ? 1 : 32);
    for (const auto& [name, value] : all) {
      if (name == "CLOCK_RATE") continue;  // the processor's may change
      EXPECT_EQ(device.attribute(name), value) << name;
      EXPECT_EQ(device.attribute(*parse_device_attribute(name)), value) << name;
    }
    EXPECT_EQ(device.attribute("multiprocessor_count"), all.at("MULTIPROCESSOR_COUNT"));
    EXPECT_THROW(device.attribute(static_cast<DeviceAttribute>(100000)), LogicError);
    EXPECT_THROW(device.attribute("warp"), LogicError);
  }
  for (const Device gpu : gpus) {
    EXPECT_EQ(gpu.attribute("REGISTERS_PER_BLOCK"), gpu.attribute("MAX_REGISTERS_PER_BLOCK"));
    EXPECT_EQ(gpu.attribute("GPU_OVERLAP"), 1);
  }
  EXPECT_THROW(Device::cpu().attribute(DeviceAttribute::pci_bus_id), LogicError);
}

TEST(Device, HasAModeAndTotalMemory) {
  for (const Device device : {get_current_device(), Device::cpu()}) {
    EXPECT_EQ(device.compute_mode(), ComputeMode::default_);
    EXPECT_GT(device.total_memory(), 0u);
    // the driver keeps a part of a GPU's memory for itself
    EXPECT_LE(device.memory_info().total, device.total_memory());
    EXPECT_GE(device.memory_info().total, device.total_memory() / 2);
  }
}

TEST(Device, IsFoundByItsPciBusId) {
  EXPECT_EQ(Device::cpu().pci_bus_id(), "");
  for (const Device gpu : gpus) {
    const std::string id = gpu.pci_bus_id();
    ASSERT_GE(id.size(), 12u) << id;
    EXPECT_EQ(Device::from_pci_bus_id(id), gpu);
    EXPECT_EQ(Device(id), gpu);
    EXPECT_EQ(Device(id.substr(0, id.find('.'))), gpu);
    const auto bus = std::stoi(id.substr(id.find(':') + 1, 2), nullptr, 16);
    EXPECT_EQ(bus, gpu.attribute(DeviceAttribute::pci_bus_id));
  }
  for (const char* const bad : {"", "0000:zz:00.0", "0000:fe:1e.7", "cuda:0", "7"}) {
    EXPECT_THROW(Device::from_pci_bus_id(bad), Error) << bad;
  }
  if (is_available()) {
    EXPECT_THROW(Device::from_pci_bus_id("0000:fe:1e.7"), LogicError);
  } else {
    EXPECT_THROW(Device::from_pci_bus_id("0000:01:00.0"), BackendUnavailable);
  }
}

TEST(Device, IsConstructedByNumberAndByName) {
  EXPECT_EQ(Device("cpu"), Device::cpu());
  EXPECT_THROW(Device("gpu"), LogicError);
  EXPECT_THROW(Device(-1), Error);
  EXPECT_EQ(Device::count(), static_cast<int>(gpus.size()));
  for (const Device gpu : gpus) {
    EXPECT_EQ(Device(gpu.id()), gpu);
    EXPECT_EQ(Device(to_string(gpu)), gpu);
  }
}

TEST(Device, HasAHash) {
  std::unordered_set<Device> all{Device::cpu(), Device::cpu(), get_current_device()};
  for (const Device gpu : gpus) all.insert(gpu);
  EXPECT_EQ(all.size(), gpus.size() + 1);
  EXPECT_TRUE(all.contains(Device::parse("cpu")));
}

TEST(Device, DetectPrintsEachDeviceAndASummary) {
  std::ostringstream out;
  EXPECT_EQ(detect(out), is_available());
  const std::string count = std::to_string(gpus.size());
  EXPECT_NE(out.str().find("Found " + count + " CUDA devices"), std::string::npos);
  EXPECT_NE(out.str().find(count + "/" + count + " devices are supported"), std::string::npos);
  for (const Device gpu : gpus) {
    EXPECT_NE(out.str().find(gpu.name()), std::string::npos);
    EXPECT_NE(out.str().find(gpu.uuid()), std::string::npos);
  }
  if (!is_available()) {
    EXPECT_NE(out.str().find(why_unavailable()), std::string::npos);
  }
}

TEST(Device, GuardsRestoreTheCurrentDeviceInAnyNesting) {
  const Device before = get_current_device();
  {
    const DeviceGuard outer(Device::cpu());
    EXPECT_EQ(Device(), Device::cpu());
    EXPECT_EQ(zeros<int>({1}).device(), Device::cpu());
    {
      const DeviceGuard inner(before);
      EXPECT_EQ(get_current_device(), before);
    }
    EXPECT_EQ(get_current_device(), Device::cpu());
    EXPECT_EQ(current_context().device(), Device::cpu());
    EXPECT_EQ(current_stream().device(), Device::cpu());
  }
  EXPECT_EQ(get_current_device(), before);
  try {
    with_device(Device::cpu(), []() -> int { throw 7; });
  } catch (int) {
  }
  EXPECT_EQ(get_current_device(), before);
  EXPECT_EQ(with_device(Device::cpu(), [] { return to_string(Device()); }), "cpu");
}

TEST(Device, TheCurrentDeviceIsPerThread) {
  const Device before = get_current_device();
  std::thread([] { set_current_device(Device::cpu()); }).join();
  EXPECT_EQ(get_current_device(), before);
  std::thread([&] { EXPECT_EQ(get_current_device(), before); }).join();
}

TEST(Device, CloseKeepsArraysValid) {
  const auto a = arange(100);
  close();
  close();
  EXPECT_EQ(sum(a).item(), 4950);
  if (get_current_device().is_cpu()) {
    EXPECT_THROW(gpus.current(), LogicError);
  } else {
    EXPECT_EQ(gpus.current(), get_current_device());
  }
}

/// Every device that the thread has used, and no other.
TEST(Device, CloseIsOfAllDevicesThatTheThreadHasUsed) {
  std::vector<Device> used{Device::cpu(), get_current_device()};
  if (gpus.size() > 1) used.push_back(gpus[1]);
  const auto held = [](const Device& device) { return pool_statistics(device).held_bytes; };
  const auto use = [](const Device& device) {
    with_device(device, [] { full<float>({1000}, 1); });
  };
  std::thread([&] {
    for (const Device& device : used) use(device);
    set_current_device(Device::cpu());
    for (const Device& device : used) EXPECT_GT(held(device), 0u) << device;
    close();
    for (const Device& device : used) EXPECT_EQ(held(device), 0u) << device;
  }).join();
  if (used[0] == used.back()) return;
  use(used.back());
  std::thread([&] {
    use(Device::cpu());
    close();
    EXPECT_EQ(held(Device::cpu()), 0u);
    EXPECT_GT(held(used.back()), 0u);
  }).join();
}

TEST(Device, ContextIsTheDevices) {
  const Context context = require_context();
  EXPECT_EQ(context, current_context());
  EXPECT_EQ(context.device(), get_current_device());
  EXPECT_GT(context.get_memory_info().total, 0u);
  context.synchronize();
  synchronize();
}

TEST(Device, ResetIsRefusedWhileArraysAreAlive) {
  const auto a = zeros<float>({100});
  EXPECT_THROW(a.device().reset(), LogicError);
  EXPECT_THROW(current_context().reset(), LogicError);
  EXPECT_EQ(sum(a).item(), 0.f);
}

TEST(Device, ResetEndsTheStreamsOfFinishedCallbacks) {
  int calls = 0;
  const Device device = get_current_device();
  {
    const Stream s = stream();
    s.add_callback([&](const Stream&) { ++calls; });
    device.synchronize();  // does not drop what the callback holds
  }
  device.reset();
  stream().synchronize();
  EXPECT_EQ(calls, 1);
}

/// What the library prints in a new process of this program that finds its default device.
std::string default_device_with(const std::string& environment) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u QUARRY_DEVICE -u CUDA_DEVICE HOME=/nonexistent " +
                              environment + " QUARRY_TEST_CHILD=1 GTEST_OUTPUT= '" + program +
                              "' --gtest_filter=DefaultDevice.Child 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char chunk[512];
  while (std::size_t n = fread(chunk, 1, sizeof chunk, pipe)) text.append(chunk, n);
  pclose(pipe);
  const auto at = text.find("default: ");
  return at == std::string::npos ? text : text.substr(at + 9, text.find('\n', at) - at - 9);
}

TEST(DefaultDevice, Child) {
  if (!getenv("QUARRY_TEST_CHILD")) GTEST_SKIP() << "run by the other tests";
  if (const char* const chosen = getenv("QUARRY_TEST_DEFAULT")) {
    setenv("QUARRY_DEVICE", chosen, 1);
  } else {
    unsetenv("QUARRY_DEVICE");  // which the test program has set
  }
  std::thread([] {
    try {
      const std::string name = to_string(get_current_device());
      std::cout << "default: " << name << std::endl;
    } catch (const BackendUnavailable&) {
      std::cout << "default: unavailable" << std::endl;
    } catch (const Error& e) {
      std::cout << "default: refused " << e.what() << std::endl;
    }
  }).join();
}

TEST(DefaultDevice, IsTheFirstGpuElseTheCpu) {
  EXPECT_EQ(default_device_with(""), is_available() ? "cuda:0" : "cpu");
}

TEST(DefaultDevice, IsWhatTheVariablesName) {
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT=cpu"), "cpu");
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT=cpu CUDA_DEVICE=7"), "cpu");
  const std::string cuda = is_available() ? "cuda:0" : "unavailable";
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT=cuda"), cuda);
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT=cuda:0"), cuda);
  EXPECT_EQ(default_device_with("CUDA_DEVICE=0"), cuda);
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT= CUDA_DEVICE=0"), cuda);
}

TEST(DefaultDevice, GarbageInTheVariablesIsRefusedByName) {
  EXPECT_EQ(default_device_with("QUARRY_TEST_DEFAULT=fast").substr(0, 7), "refused");
  EXPECT_NE(default_device_with("CUDA_DEVICE=one").find("CUDA_DEVICE"), std::string::npos);
  EXPECT_NE(default_device_with("CUDA_DEVICE=-1 ").find(is_available() ? "refused" : "unavailable"),
            std::string::npos);
}

TEST(DefaultDevice, IsWhatTheFileInTheHomeDirectoryNames) {
  const test::TemporaryFolder folder;
  const std::string home = folder.path();
  std::ofstream(home + "/.cuda-device") << "0\n";
  EXPECT_EQ(default_device_with("HOME=" + home), is_available() ? "cuda:0" : "unavailable");
  std::ofstream(home + "/.cuda-device") << "nonsense";
  EXPECT_NE(default_device_with("HOME=" + home).find(".cuda-device"), std::string::npos);
}

}  // namespace
}  // namespace quarry
