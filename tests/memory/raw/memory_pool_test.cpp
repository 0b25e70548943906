// SPDX-License-Identifier: BSD-3-Clause
// MemoryPool's size classes, and its laws against a model. What it hands out is tested in
// pooled_allocation_test.cpp.
#include <quarry/memory/memory_pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

static_assert(MemoryResource<DeviceMemoryPool> && MemoryResource<PageLockedMemoryPool>);

// --- the classes

TEST(PoolBins, AreThoseOfPycuda) {
  const std::vector<std::array<std::size_t, 3>> table{{0, 0, 1},
                                                      {1, 0, 1},
                                                      {15, 62, 15},
                                                      {16, 64, 16},
                                                      {31, 79, 31},
                                                      {32, 80, 33},
                                                      {33, 80, 33},
                                                      {64, 96, 67},
                                                      {1000, 159, 1023},
                                                      {1024, 160, 1087},
                                                      {1087, 160, 1087},
                                                      {1088, 161, 1151},
                                                      {4096, 192, 4351},
                                                      {65536, 256, 69631},
                                                      {1 << 20, 320, 1114111},
                                                      {1500000, 326, 1507327},
                                                      {1 << 30, 480, 1140850687},
                                                      {std::size_t{1} << 32, 512, 4563402751}};
  for (const auto& [bytes, bin, block] : table) {
    EXPECT_EQ(MemoryPool::bin_number(bytes), static_cast<int>(bin)) << bytes;
    EXPECT_EQ(MemoryPool::alloc_size(static_cast<int>(bin)), block) << bytes;
  }
}

TEST(PoolBins, HoldEverySizeWithLittleWaste) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bytes = (random() & 0x7fffffff) >> (random() % 32);
    const int bin = MemoryPool::bin_number(bytes);
    const std::size_t block = MemoryPool::alloc_size(bin);
    EXPECT_GE(block, bytes);
    EXPECT_EQ(MemoryPool::bin_number(block), bin);
    if (bytes > 0) {
      EXPECT_LE(static_cast<double>(block - bytes), static_cast<double>(bytes) / 16);
    }
  }
}

TEST(PoolBins, AreMonotone) {
  for (std::size_t bytes = 1; bytes < 100'000; ++bytes) {
    EXPECT_LE(MemoryPool::bin_number(bytes - 1), MemoryPool::bin_number(bytes));
  }
  EXPECT_EQ(MemoryPool::alloc_size(1023), ~std::size_t{0});
  EXPECT_THROW(MemoryPool::alloc_size(-1), LogicError);
  EXPECT_THROW(MemoryPool::alloc_size(1024), LogicError);
}

// --- the laws, against a model over an upstream that hands out addresses alone

struct Book {
  std::size_t capacity = ~std::size_t{0}, used = 0, calls = 0;
  std::uintptr_t next = 4096;
  std::map<void*, std::size_t> live;
  std::vector<void*> given_back;
};

struct Addresses {
  std::shared_ptr<Book> book = std::make_shared<Book>();

  void* allocate(const Stream&, std::size_t bytes, std::size_t) {
    if (bytes > book->capacity - book->used) throw MemoryError("the book is full");
    auto* const memory = reinterpret_cast<void*>(book->next);
    book->next += (bytes / 4096 + 1) * 4096;
    book->used += bytes;
    ++book->calls;
    book->live[memory] = bytes;
    return memory;
  }
  void deallocate(const Stream&, void* memory, std::size_t bytes, std::size_t) noexcept {
    EXPECT_EQ(book->live[memory], bytes);
    book->live.erase(memory);
    book->used -= bytes;
    book->given_back.push_back(memory);
  }
  MemorySpace space() const { return MemorySpace::device; }
  Device device() const { return {}; }
};

struct Model {
  struct Active {
    PooledDeviceAllocation block;
    int bin;
  };
  std::map<int, std::vector<void*>> held;
  std::vector<Active> active;
  bool holding = true;

  std::size_t held_blocks() const {
    std::size_t n = 0;
    for (const auto& [bin, blocks] : held) n += blocks.size();
    return n;
  }
  std::size_t managed() const {
    std::size_t n = 0;
    for (const auto& [bin, blocks] : held) n += blocks.size() * MemoryPool::alloc_size(bin);
    for (const auto& a : active) n += MemoryPool::alloc_size(a.bin);
    return n;
  }
  std::size_t requested() const {
    std::size_t n = 0;
    for (const auto& a : active) n += a.block.size();
    return n;
  }
  void put(int bin, void* memory) {
    if (holding) held[bin].push_back(memory);
  }
  /// The block that is to be used again, or nullptr.
  void* take(int bin) {
    auto& blocks = held[bin];
    if (blocks.empty()) return nullptr;
    void* const memory = blocks.back();
    blocks.pop_back();
    return memory;
  }
  void* take_largest() {
    while (!held.empty() && held.rbegin()->second.empty()) held.erase(std::prev(held.end()));
    return held.empty() ? nullptr : take(held.rbegin()->first);
  }
};

class PoolLaws : public testing::TestWithParam<unsigned> {
 protected:
  void check() const {
    EXPECT_EQ(pool_.held_blocks(), model_.held_blocks());
    EXPECT_EQ(pool_.active_blocks(), model_.active.size());
    EXPECT_EQ(pool_.managed_bytes(), model_.managed());
    EXPECT_EQ(pool_.managed_bytes(), upstream_.book->used);
    EXPECT_EQ(pool_.active_bytes(), model_.requested());
    EXPECT_LE(pool_.active_bytes(), pool_.managed_bytes());
    EXPECT_EQ(pool_.upstream_allocations(), upstream_.book->calls);
  }
  std::size_t some_size() { return (random_() & 0xfffff) >> (random_() % 20); }

  /// The blocks that must go before `bytes` are free, in order; nothing if all of them do not do.
  std::vector<void*> to_be_freed(std::size_t bytes) {
    const Book& book = *upstream_.book;
    std::vector<void*> blocks;
    for (std::size_t used = book.used; bytes > book.capacity - used;) {
      void* const block = model_.take_largest();
      if (!block) break;
      used -= book.live.at(block);
      blocks.push_back(block);
    }
    return blocks;
  }
  void allocate(std::size_t bytes) {
    const int bin = MemoryPool::bin_number(bytes);
    void* const expected = model_.take(bin);
    const auto calls = upstream_.book->calls;
    upstream_.book->given_back.clear();
    const auto evicted = expected ? std::vector<void*>() : to_be_freed(MemoryPool::alloc_size(bin));
    try {
      auto block = pool_.allocate(bytes);
      EXPECT_EQ(block.size(), bytes);
      if (expected) {
        EXPECT_EQ(block.device_pointer(), expected);
        EXPECT_EQ(upstream_.book->calls, calls);
      }
      model_.active.push_back({std::move(block), bin});
    } catch (const MemoryError&) {
      EXPECT_EQ(model_.held_blocks(), 0u);
      EXPECT_GT(MemoryPool::alloc_size(bin), upstream_.book->capacity - upstream_.book->used);
    }
    EXPECT_EQ(upstream_.book->given_back, evicted);
  }
  void free_one() {
    if (model_.active.empty()) return;
    std::swap(model_.active[random_() % model_.active.size()], model_.active.back());
    auto& [block, bin] = model_.active.back();
    model_.put(bin, block.device_pointer());
    if (random_() % 2) block.free();
    model_.active.pop_back();
  }

  std::mt19937 random_{GetParam()};
  Addresses upstream_;
  DeviceMemoryPool pool_{Resource(upstream_)};
  Model model_;
};

TEST_P(PoolLaws, HoldForAnySequenceOfCalls) {
  for (int i = 0; i < 2000; ++i) {
    switch (random_() % 50) {
      case 0:
        pool_.free_held();
        model_.held.clear();
        break;
      case 1:
        pool_.trim();
        model_.held.clear();
        break;
      default:
        random_() % 9 < 5 ? allocate(some_size()) : free_one();
    }
    check();
  }
  pool_.stop_holding();
  model_.held.clear();
  model_.holding = false;
  for (int i = 0; i < 300; ++i) {
    random_() % 9 < 4 ? allocate(some_size()) : free_one();
    EXPECT_EQ(pool_.held_blocks(), 0u);
    check();
  }
}

TEST_P(PoolLaws, HoldWhereMemoryIsShort) {
  upstream_.book->capacity = 3'000'000;
  for (int i = 0; i < 2000; ++i) {
    random_() % 9 < 5 ? allocate(some_size()) : free_one();
    check();
    EXPECT_LE(upstream_.book->used, upstream_.book->capacity);
  }
  model_.active.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoolLaws, testing::Range(0u, 4u));

TEST(MemoryPool, GivesEverythingBackAtItsEndWhichItsBlocksPutOff) {
  const Addresses upstream;
  {
    auto pool = std::make_unique<DeviceMemoryPool>(Resource(upstream));
    auto kept = pool->allocate(100);
    pool->allocate(5000);
    pool.reset();
    EXPECT_EQ(upstream.book->live.size(), 2u);
    kept.free();
    EXPECT_EQ(upstream.book->live.size(), 0u);
  }
  EXPECT_EQ(upstream.book->used, 0u);
}

TEST(MemoryPool, ACopyIsTheSamePool) {
  DeviceMemoryPool pool{Resource(Addresses())};
  DeviceMemoryPool copy = pool;
  const auto block = pool.allocate(10);
  EXPECT_EQ(copy.active_blocks(), 1u);
  EXPECT_EQ(copy, pool);
  EXPECT_FALSE(copy == DeviceMemoryPool(Resource(Addresses())));
}

TEST(MemoryPool, ErrorsOfTheUpstreamPassAndChangeNothing) {
  struct Broken : Addresses {
    void* allocate(const Stream&, std::size_t, std::size_t) { throw LogicError("broken"); }
  };
  DeviceMemoryPool pool{Resource(Broken())};
  EXPECT_THROW(pool.allocate(100), LogicError);
  EXPECT_EQ(pool.active_blocks(), 0u);
  EXPECT_EQ(pool.managed_bytes(), 0u);
  EXPECT_THROW(pool.allocate(~std::size_t{0}), SizeOverflow);
  EXPECT_THROW(pool.allocate(default_stream(), 10, 4096), LogicError);
}

TEST(MemoryPool, AnUpstreamThatGivesMemoryTwiceIsFoundOut) {
  struct Repeating : Addresses {
    void* allocate(const Stream&, std::size_t, std::size_t) {
      return reinterpret_cast<void*>(std::uintptr_t{1} << 20);
    }
    void deallocate(const Stream&, void*, std::size_t, std::size_t) noexcept {}
  };
  DeviceMemoryPool pool{Resource(Repeating())};
  const auto block = pool.allocate(100);
  EXPECT_THROW(pool.allocate(100), LogicError);
  EXPECT_THROW(pool.allocate(5000), LogicError);
  EXPECT_EQ(pool.active_blocks(), 1u);
  EXPECT_EQ(pool.active_bytes(), 100u);
}

template <class P>
void expect_misuse_ends_the_program(P pool) {
  const Stream s = default_stream(pool.device());
  void* const memory = pool.allocate(s, 5000, 256);
  auto* const inside = static_cast<std::byte*>(memory) + 256;
  int foreign = 0;
  EXPECT_DEATH(pool.deallocate(s, inside, 5000, 256), "not the start of a block");
  EXPECT_DEATH(pool.deallocate(s, &foreign, 5000, 256), "not the start of a block");
  EXPECT_DEATH(pool.deallocate(s, memory, 5100, 256), "a block of 5100 bytes and has 5000");
  EXPECT_DEATH((pool.deallocate(s, memory, 5000, 256), pool.deallocate(s, memory, 5000, 256)),
               "freed twice");
  EXPECT_DEATH((pool.deallocate(s, memory, 5000, 256), pool.free_held(),
                pool.deallocate(s, memory, 5000, 256)),
               "not the start of a block");
  pool.deallocate(s, memory, 5000, 256);
  EXPECT_EQ(pool.active_blocks(), 0u);
  EXPECT_EQ(pool.held_blocks(), 1u);
}

TEST(MemoryPoolDeathTest, MistakesWithFreesEndTheProgramWithAReason) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "one kind of device is enough";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expect_misuse_ends_the_program(DeviceMemoryPool());
  expect_misuse_ends_the_program(PageLockedMemoryPool());
}

}  // namespace
}  // namespace quarry
