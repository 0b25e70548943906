// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/external_manager.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/ipc.hpp>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

/// Counts what is asked of it, as Numba's tests do.
class Counting : public HostOnlyMemoryManager {
 public:
  int interface_version() const override { return version; }
  void initialize() override {
    ++initialized;
    log.push_back("initialize");
  }
  MemoryPointer memalloc(std::size_t bytes) override {
    if (is_empty) throw MemoryError("the manager has no memory");
    const int number = static_cast<int>(sizes.size());
    sizes.push_back(bytes);
    log.push_back("memalloc");
    void* const memory = below_.allocate(default_stream(device()), bytes);
    return {memory, bytes - missing, [this, number, memory, bytes] {
              finalized.push_back(number);
              below_.deallocate(default_stream(device()), memory, bytes);
            }};
  }
  MemoryInfo get_memory_info() override { return {32, 64}; }
  IpcBytes get_ipc_handle(const MemoryPointer& memory) override {
    IpcBytes handle{};
    handle[0] = static_cast<std::byte>(memory.bytes);
    return handle;
  }
  void reset() override { log.push_back("reset"); }
  std::shared_ptr<void> defer_cleanup() override {
    log.push_back("defer");
    return std::shared_ptr<void>(this, [this](void*) { log.push_back("cleanup"); });
  }

  int version = 1, initialized = 0;
  bool is_empty = false;
  std::size_t missing = 0;  ///< bytes of every block
  std::vector<std::size_t> sizes;
  std::vector<int> finalized;
  std::vector<std::string> log;

 private:
  Resource below_ = device_resource();
};

class ExternalManager : public testing::Test {
 protected:
  void TearDown() override { set_memory_manager(nullptr); }
  std::shared_ptr<Counting> manager = std::make_shared<Counting>();
};

TEST_F(ExternalManager, EachArrayIsAnAllocationWithItsOwnEnd) {
  set_memory_manager(manager);
  EXPECT_EQ(memory_manager(), manager);
  std::optional<DeviceNDArray<double>> a = empty<double>({10});
  std::optional<DeviceNDArray<float>> b = empty<float>({10});
  auto c = empty<std::int8_t>({7});
  EXPECT_EQ(manager->sizes, (std::vector<std::size_t>{80, 40, 7}));
  EXPECT_TRUE(manager->finalized.empty());
  b.reset();
  EXPECT_EQ(manager->finalized, (std::vector{1}));
  a.reset();
  EXPECT_EQ(manager->finalized, (std::vector{1, 0}));
  c = empty<std::int8_t>({0});
  EXPECT_EQ(manager->finalized, (std::vector{1, 0, 2}));
}

TEST_F(ExternalManager, IsInitializedBeforeItsFirstAllocation) {
  set_memory_manager(manager);
  const auto a = empty<double>({10});
  const auto b = empty<double>({10});
  EXPECT_EQ(manager->log, (std::vector<std::string>{"initialize", "memalloc", "memalloc"}));
}

TEST_F(ExternalManager, MemoryInfoAndIpcHandlesAreItsOwn) {
  set_memory_manager(manager);
  EXPECT_EQ(get_current_device().memory_info().free, 32u);
  EXPECT_EQ(current_context().get_memory_info().total, 64u);
  EXPECT_EQ(mem_get_info().free, 32u);
  const auto a = empty<std::int8_t>({10});
  const IpcMemory shared = get_ipc_handle(DevicePtr(a));
  EXPECT_EQ(shared.handle[0], std::byte{10});
  EXPECT_EQ(shared.offset, 0u);
  set_memory_manager(nullptr);
  EXPECT_NE(get_current_device().memory_info().total, 64u);
}

TEST_F(ExternalManager, ResetIsPassedOnWhenNoArrayIsLeft) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "other tests go on in the context";
  set_memory_manager(manager);
  {
    const auto a = empty<double>({10});
    EXPECT_THROW(get_current_device().reset(), LogicError);
  }
  manager->log.clear();
  get_current_device().reset();
  EXPECT_EQ(manager->log, std::vector<std::string>{"reset"});
  const auto b = empty<double>({10});
  EXPECT_EQ(manager->log, (std::vector<std::string>{"reset", "initialize", "memalloc"}));
}

TEST_F(ExternalManager, DeferredCleanupIsPassedOn) {
  set_memory_manager(manager);
  {
    const auto scope = defer_cleanup();
    EXPECT_EQ(manager->log, std::vector<std::string>{"defer"});
  }
  EXPECT_EQ(manager->log, (std::vector<std::string>{"defer", "cleanup"}));
}

TEST_F(ExternalManager, LessMemoryThanWasAskedForIsFoundOutAndGivenBack) {
  manager->missing = 1;
  set_memory_manager(manager);
  try {
    empty<float>({25});
    FAIL() << "no exception";
  } catch (const LogicError& e) {
    EXPECT_NE(std::string(e.what()).find("99 of 100 bytes"), std::string::npos) << e.what();
  }
  EXPECT_EQ(manager->finalized, std::vector{0});
}

TEST_F(ExternalManager, AnotherInterfaceVersionIsRefused) {
  manager->version = 2;
  try {
    set_memory_manager(manager);
    FAIL() << "no exception";
  } catch (const LogicError& e) {
    EXPECT_NE(std::string(e.what()).find("version 2 - version 1 required"), std::string::npos);
  }
  EXPECT_EQ(memory_manager(), nullptr);
  EXPECT_THROW(memory_manager_resource(manager), LogicError);
  EXPECT_THROW(memory_manager_resource(nullptr), LogicError);
}

TEST_F(ExternalManager, ArraysAreUsableAndOutliveItsTime) {
  set_memory_manager(manager);
  const Stream s = stream();
  const StreamGuard guard(s);
  auto a = arange<float>(1000);
  const std::weak_ptr<Counting> watched = manager;
  set_memory_manager(nullptr);
  Counting* const bare = manager.get();
  manager.reset();
  a += 1;
  EXPECT_EQ(sum(a).item(), 500'500.f);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(bare->finalized.size(), bare->sizes.size() - 1);
  a = empty<float>({0});
  EXPECT_TRUE(watched.expired());
}

TEST_F(ExternalManager, ItsErrorsComeOutAndNothingIsLost) {
  set_memory_manager(manager);
  manager->is_empty = true;
  EXPECT_THROW(empty<float>({10}), MemoryError);
  manager->is_empty = false;
  EXPECT_NO_THROW(empty<float>({10}));
  EXPECT_EQ(manager->finalized.size(), 1u);
}

TEST_F(ExternalManager, MayServeAScopeAndStandUnderAPool) {
  {
    const ResourceGuard guard{Resource(Pool(memory_manager_resource(manager)))};
    const auto a = ones<float>({1000});
    EXPECT_EQ(sum(a).item(), 1000.f);
  }
  EXPECT_FALSE(manager->sizes.empty());
  EXPECT_EQ(manager->finalized.size(), manager->sizes.size());
}

TEST_F(ExternalManager, HostMemoryIsMadeByTheBase) {
  const MemoryPointer memory = manager->memhostalloc(5000, true, true, false);
  ASSERT_NE(memory.pointer, nullptr);
  EXPECT_EQ(memory.bytes, 5000u);
  static_cast<char*>(memory.pointer)[4999] = 1;
  memory.finalizer();
  std::vector<std::byte> mine(100'000);
  for (int turn = 0; turn < 2; ++turn) {
    const MemoryPointer pinned = manager->mempin(mine.data(), mine.size(), false);
    EXPECT_EQ(pinned.pointer, mine.data());
    pinned.finalizer();
  }
}

}  // namespace
}  // namespace quarry
