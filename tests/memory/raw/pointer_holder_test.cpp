// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/pointer_holder.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include <quarry/quarry.hpp>

#include "gate.hpp"

namespace quarry {
namespace {

/// Memory that another library would own.
class Foreign : public PointerHolderBase {
 public:
  explicit Foreign(std::size_t bytes, bool* is_freed = nullptr)
      : memory_(mem_alloc(bytes)), is_freed_(is_freed) {}
  ~Foreign() override {
    if (is_freed_) *is_freed_ = true;
  }
  std::uintptr_t get_pointer() const override { return static_cast<std::uintptr_t>(memory_); }

 private:
  DeviceAllocation memory_;
  bool* is_freed_;
};

/// A class with these two members is device memory, too.
struct Own {
  std::shared_ptr<Buffer> memory;
  std::byte* device_pointer() const { return memory->data(); }
  std::shared_ptr<Buffer> buffer() const { return memory; }
};
static_assert(DeviceMemory<Own> && !DeviceMemory<Foreign>);

TEST(PointerHolder, IsAnAddressForRawCalls) {
  const Foreign memory(16);
  const std::vector<int> host{1, 2, 3, 4};
  std::vector<int> back(4);
  memcpy_htod(memory, host);
  memcpy_dtoh(back, memory);
  EXPECT_EQ(back, host);
  EXPECT_EQ(memory.device_pointer(), static_cast<DevicePtr>(memory).get());
}

TEST(PointerHolder, IsTheMemoryOfArrays) {
  bool is_freed = false;
  std::optional<DeviceNDArray<int>> a;
  {
    const auto memory = std::make_shared<Foreign>(4004, &is_freed);
    a.emplace(Layout{Shape{1000}, Strides{4}}, memory->device_pointer() + 4,
              memory->as_buffer(4000, 4));
    EXPECT_EQ(a->buffer()->bytes(), 4000u);
  }
  a->fill(3);
  EXPECT_EQ(sum(*a).item(), 3000);
  EXPECT_FALSE(is_freed);
  a.reset();
  synchronize();
  EXPECT_TRUE(is_freed);
}

TEST(PointerHolder, IsKeptUntilTheWorkOnItIsDone) {
  bool is_freed = false;
  const Stream s = stream();
  test::Gate gate(s);
  {
    const auto memory = std::make_shared<Foreign>(4000, &is_freed);
    const DeviceNDArray<int> a(Layout{Shape{1000}, Strides{4}}, memory->device_pointer(),
                               memory->as_buffer(4000, 0, s));
    a.fill(1);
  }
  EXPECT_FALSE(is_freed);
  gate.open();
  s.synchronize();
  EXPECT_TRUE(is_freed);
}

TEST(PointerHolder, ThatNoSharedPointerOwnsIsNoOwner) {
  Foreign memory(16);
  EXPECT_THROW(memory.as_buffer(16), LogicError);
}

TEST(DeviceMemory, IsEveryClassWithAnAddressAndABuffer) {
  const Own memory{Buffer::allocate(16, default_stream())};
  memcpy_htod(memory, std::vector<int>{1, 2, 3, 4});
  std::vector<int> back(4);
  memcpy_dtoh(back, memory);
  EXPECT_EQ(back[3], 4);
}

}  // namespace
}  // namespace quarry
