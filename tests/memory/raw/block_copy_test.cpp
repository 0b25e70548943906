// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <string>
#include <vector>

#include "memory/raw/boxes.hpp"

namespace quarry {
namespace {

using test::Box;
using test::Bytes;
using test::copy_box;
using test::Extent;
using test::past;

enum class Where { host, device, unified_host, unified_device };

/// A block with bytes of its own, on a side of the copy.
struct Block {
  Where where;
  Bytes bytes;
  DeviceAllocation memory;

  Block(Where place, std::size_t size, std::mt19937& random) : where(place), bytes(size) {
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
    if (where == Where::device) memory = mem_alloc(size);
    if (where == Where::unified_host || where == Where::unified_device) {
      memory = DeviceAllocation(Buffer::allocate(size, default_stream(), managed_resource()));
    }
    put();
  }
  std::span<std::uint8_t> managed() const {
    return {reinterpret_cast<std::uint8_t*>(memory.device_pointer()), memory.size()};
  }
  void put() {
    if (where == Where::device) return memcpy_htod(memory, bytes);
    if (where != Where::host) std::copy(bytes.begin(), bytes.end(), managed().begin());
  }
  Bytes now() const {
    Bytes back(bytes.size());
    if (where == Where::host) return bytes;
    if (where == Where::device) {
      memcpy_dtoh(back, memory);
    } else {
      std::copy(managed().begin(), managed().end(), back.begin());
    }
    return back;
  }
  template <class Copy>
  void be_source(Copy& copy) {
    if (where == Where::host) copy.set_src_host(bytes);
    if (where == Where::device) copy.set_src_device(memory);
    if (where == Where::unified_host) copy.set_src_unified(managed());
    if (where == Where::unified_device) copy.set_src_unified(DevicePtr(memory));
  }
  template <class Copy>
  void be_destination(Copy& copy) {
    if (where == Where::host) copy.set_dst_host(bytes);
    if (where == Where::device) copy.set_dst_device(memory);
    if (where == Where::unified_host) copy.set_dst_unified(managed());
    if (where == Where::unified_device) copy.set_dst_unified(DevicePtr(memory));
  }
};

struct RandomCopy {
  explicit RandomCopy(unsigned seed, bool plane) : random(seed) {
    auto up_to = [&](std::size_t n) { return random() % n; };
    box = {up_to(40) + 1, up_to(6) + 1, plane ? 1 : up_to(5) + 1};
    for (Extent* e : {&to, &from}) {
      const std::size_t x = up_to(8), y = up_to(4);
      *e = {x, y, plane ? 0 : up_to(3), x + box.width + up_to(9), y + box.height + up_to(3)};
    }
  }
  Where place() { return static_cast<Where>(random() % 4); }

  std::mt19937 random;
  Box box{};
  Extent to{}, from{};
};

void set_plane(Memcpy2D& copy, const RandomCopy& r) {
  copy.src_x_in_bytes = r.from.x;
  copy.src_y = r.from.y;
  copy.src_pitch = r.from.pitch;
  copy.dst_x_in_bytes = r.to.x;
  copy.dst_y = r.to.y;
  copy.dst_pitch = r.to.pitch;
  copy.width_in_bytes = r.box.width;
  copy.height = r.box.height;
}
void set_space(Memcpy3D& copy, const RandomCopy& r) {
  copy.src_x_in_bytes = r.from.x;
  copy.src_y = r.from.y;
  copy.src_z = r.from.z;
  copy.src_pitch = r.from.pitch;
  copy.src_height = r.from.height;
  copy.dst_x_in_bytes = r.to.x;
  copy.dst_y = r.to.y;
  copy.dst_z = r.to.z;
  copy.dst_pitch = r.to.pitch;
  copy.dst_height = r.to.height;
  copy.width_in_bytes = r.box.width;
  copy.height = r.box.height;
  copy.depth = r.box.depth;
}

template <class Copy, class Set, class Run>
void compare_with_loops(bool plane, Set&& set, Run&& run) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomCopy r(seed, plane);
    Block to(r.place(), past(r.to, r.box), r.random);
    Block from(r.place(), past(r.from, r.box), r.random);
    Copy copy;
    set(copy, r);
    to.be_destination(copy);
    from.be_source(copy);
    Bytes expected = to.bytes;
    copy_box(expected, r.to, from.bytes, r.from, r.box);
    run(copy);
    synchronize();
    EXPECT_EQ(to.now(), expected) << "seed " << seed;
  }
}

TEST(Memcpy2D, CopiesWhatLoopsCopy) {
  compare_with_loops<Memcpy2D>(true, set_plane, [](const Memcpy2D& copy) { copy(); });
}
TEST(Memcpy2D, Unaligned) {
  compare_with_loops<Memcpy2D>(true, set_plane, [](const Memcpy2D& copy) { copy(false); });
}
TEST(Memcpy2D, InAStream) {
  const Stream s = stream();
  compare_with_loops<Memcpy2D>(true, set_plane, [&](const Memcpy2D& copy) {
    copy(s);
    s.synchronize();
  });
}
TEST(Memcpy3D, CopiesWhatLoopsCopy) {
  compare_with_loops<Memcpy3D>(false, set_space, [](const Memcpy3D& copy) { copy(); });
}
TEST(Memcpy3D, InAStream) {
  const Stream s = stream();
  compare_with_loops<Memcpy3D>(false, set_space, [&](const Memcpy3D& copy) {
    copy(s);
    s.synchronize();
  });
}
TEST(Memcpy3DPeer, CopiesOnOneDeviceToo) {
  compare_with_loops<Memcpy3DPeer>(false, set_space, [](Memcpy3DPeer& copy) {
    copy.set_src_context(Device());
    copy.set_dst_context(current_context());
    copy();
  });
}

TEST(Memcpy3DPeer, CopiesBetweenTwoDevices) {
  if (gpus.size() < 2) GTEST_SKIP() << "wants two GPUs";
  RandomCopy r(7, false);
  Bytes from(past(r.from, r.box)), to(past(r.to, r.box), 9);
  for (auto& b : from) b = static_cast<std::uint8_t>(r.random());
  const auto source = mem_alloc(from.size(), gpus[0]), target = mem_alloc(to.size(), gpus[1]);
  memcpy_htod(source, from);
  memcpy_htod(target, to);
  Bytes expected = to;
  copy_box(expected, r.to, from, r.from, r.box);
  Memcpy3DPeer copy;
  set_space(copy, r);
  copy.set_src_device(DevicePtr(source.device_pointer()));
  copy.set_dst_device(DevicePtr(target.device_pointer()));
  copy.set_src_context(gpus[0]);
  copy.set_dst_context(Context(gpus[1]));
  copy();
  memcpy_dtoh(to, target);
  EXPECT_EQ(to, expected);

  memcpy_htod(target, Bytes(to.size(), 9));
  Memcpy3D plain;  // allocations say where they are
  set_space(plain, r);
  plain.set_src_device(source);
  plain.set_dst_device(target);
  const Stream s = stream({.device = gpus[1]});
  plain(s);
  s.synchronize();
  memcpy_dtoh(to, target);
  EXPECT_EQ(to, expected);
}

TEST(Memcpy3D, AsyncRunsBehindTheWorkOfItsStream) {
  const Stream s = stream();
  const auto first = mem_alloc(64), second = mem_alloc(64);
  memcpy_htod(first, Bytes(64, 1));
  memcpy_htod(second, Bytes(64, 2));
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  Memcpy3D copy;
  copy.set_src_device(first);
  copy.set_dst_device(second);
  copy.width_in_bytes = copy.height = copy.depth = 4;
  copy(s);
  EXPECT_FALSE(s.is_done());
  open.set_value();
  s.synchronize();
  Bytes back(64);
  memcpy_dtoh(back, second);
  EXPECT_EQ(back, Bytes(64, 1));
}

TEST(Memcpy3D, BeginsWithZerosAndCopiesNothingThen) {
  Memcpy3D copy;
  EXPECT_EQ(copy.src_pitch + copy.dst_pitch + copy.width_in_bytes + copy.height + copy.depth, 0u);
  EXPECT_EQ(copy.src_lod + copy.dst_lod + copy.src_height + copy.dst_height, 0u);
  EXPECT_THROW(copy(), LogicError);
  const auto memory = mem_alloc(4);
  copy.set_src_device(memory);
  EXPECT_THROW(copy(), LogicError);
  copy.set_dst_device(memory);
  copy();
  copy.width_in_bytes = 100;
  copy.height = 100;
  copy();
}

TEST(Memcpy2D, APitchOfZeroIsTheWidth) {
  Bytes host{1, 2, 3, 4, 5, 6};
  const auto memory = mem_alloc(6);
  Memcpy2D copy;
  copy.set_src_host(host);
  copy.set_dst_device(memory);
  copy.width_in_bytes = 3;
  copy.height = 2;
  copy();
  Bytes back(6);
  memcpy_dtoh(back, memory);
  EXPECT_EQ(back, host);
}

class RefusedCopy : public testing::Test {
 protected:
  RefusedCopy() {
    copy_.set_src_host(host_);
    copy_.set_dst_device(memory_);
    copy_.width_in_bytes = 10;
    copy_.height = 5;
    copy_.depth = 2;
  }
  std::string error() {
    try {
      copy_();
    } catch (const LogicError& e) {
      return e.what();
    }
    return "no error";
  }

  Bytes host_ = Bytes(100);
  DeviceAllocation memory_ = mem_alloc(100);
  Memcpy3D copy_;
};

TEST_F(RefusedCopy, IsNoneIfAllFits) { EXPECT_EQ(error(), "no error"); }

TEST_F(RefusedCopy, PitchesAndHeightsThatAreTooSmall) {
  copy_.src_pitch = 9;
  EXPECT_NE(error().find("the source has a pitch of 9 bytes"), std::string::npos) << error();
  copy_.src_pitch = 0;
  copy_.src_x_in_bytes = 1;
  EXPECT_NE(error().find("end at byte 11 (1 + 10)"), std::string::npos) << error();
  copy_.src_x_in_bytes = 0;
  copy_.dst_height = 4;
  EXPECT_NE(error().find("the destination has planes of 4 rows"), std::string::npos) << error();
  copy_.dst_height = 0;
  copy_.dst_y = 1;
  EXPECT_NE(error().find("ends at row 6 (1 + 5)"), std::string::npos) << error();
}

TEST_F(RefusedCopy, BoxesThatLeaveTheirMemory) {
  copy_.src_z = 1;
  EXPECT_NE(error().find("the source is 100 bytes of the host, the box ends at byte 150"),
            std::string::npos)
      << error();
  copy_.src_z = 0;
  copy_.dst_z = 1;
  EXPECT_NE(error().find("150 bytes at"), std::string::npos) << error();
  copy_.dst_z = 0;
  copy_.dst_pitch = 11;
  EXPECT_NE(error().find("109 bytes at"), std::string::npos) << error();
}

TEST_F(RefusedCopy, NumbersThatOverflow) {
  copy_.src_pitch = std::size_t{1} << 62;
  EXPECT_THROW(copy_(), LogicError);
  copy_.src_pitch = 0;
  copy_.src_z = ~std::size_t{0};
  EXPECT_THROW(copy_(), LogicError);
}

TEST_F(RefusedCopy, LevelsOfDetail) {
  copy_.src_lod = 1;
  EXPECT_NE(error().find("level of detail 1"), std::string::npos) << error();
}

TEST_F(RefusedCopy, MemoryOfTheWrongKind) {
  if (Device().is_cpu()) GTEST_SKIP() << "there all memory is the program's";
  copy_.set_dst_device(DevicePtr(host_.data()));
  EXPECT_NE(error().find("pageable host memory"), std::string::npos) << error();
  copy_.set_dst_device(memory_);
  const std::span on_device(reinterpret_cast<std::uint8_t*>(memory_.device_pointer()), 100);
  copy_.set_src_host(on_device);
  EXPECT_NE(error().find("device memory of cuda"), std::string::npos) << error();
  copy_.set_src_unified(host_);
  EXPECT_NE(error().find("as unified memory"), std::string::npos) << error();
}

TEST_F(RefusedCopy, MemoryThatHasBeenFreed) {
  memory_.free();
  EXPECT_NE(error().find("has been freed"), std::string::npos) << error();
}

}  // namespace
}  // namespace quarry
