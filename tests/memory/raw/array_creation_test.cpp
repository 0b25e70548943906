// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

/// CUDA arrays themselves, and the sides of structured copies that are refused.
namespace quarry {
namespace {

using Bytes = std::vector<std::uint8_t>;

static_assert(!std::is_copy_constructible_v<CudaArray> && !std::is_copy_assignable_v<CudaArray>);
static_assert(std::is_nothrow_move_constructible_v<CudaArray>);
static_assert(std::is_nothrow_move_assignable_v<CudaArray>);

template <class E = LogicError, class F>
std::string error(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CudaArray, KnowsWhatItIs) {
  const ArrayDescriptor d{.width = 8, .height = 4, .dtype = TypeId::uint16, .num_channels = 2};
  CudaArray array(d);
  EXPECT_EQ(array.descriptor(), d);
  EXPECT_EQ(array.device(), Device());
  EXPECT_NE(array.handle(), nullptr);
  if (gpus.size() < 2) return;
  const CudaArray there(d, gpus[1]);
  EXPECT_EQ(there.device(), gpus[1]);
}

TEST(CudaArray, IsFreedOnceAndMayBeFreedAgain) {
  CudaArray array({.width = 8});
  array.free();
  array.free();
  EXPECT_TRUE(contains(error([&] { array.handle(); }), "the CUDA array has been freed"));
  EXPECT_THROW(array.descriptor(), LogicError);
  EXPECT_THROW(array.device(), LogicError);
}

TEST(CudaArray, Moves) {
  CudaArray first({.width = 8}), second({.width = 9});
  void* const handle = first.handle();
  second = std::move(first);
  EXPECT_EQ(second.handle(), handle);
  EXPECT_EQ(second.descriptor().width, 8U);
  const CudaArray third(std::move(second));
  EXPECT_EQ(third.handle(), handle);
}

TEST(CudaArray, OfDescriptorsThatNoDeviceHasIsRefused) {
  const auto refusal = [](const ArrayDescriptor& d) { return error([&] { CudaArray array(d); }); };
  EXPECT_EQ(refusal({}), "a CUDA array of 0 x 0 x 0 of 1 x float32: it must have a width");
  EXPECT_TRUE(contains(refusal({.width = 4, .num_channels = 3}), "4 x 0 x 0 of 3 x float32"));
  EXPECT_TRUE(contains(refusal({.width = 4, .num_channels = 0}), "1, 2 or 4 channels"));
  for (const TypeId type : {TypeId::bool_, TypeId::int64, TypeId::float64, TypeId::complex64}) {
    EXPECT_TRUE(contains(refusal({.width = 4, .dtype = type}), "float16 or float32"));
  }
  EXPECT_TRUE(contains(refusal({.width = 4, .depth = 3}), "a height"));
  EXPECT_TRUE(contains(refusal({.width = 4, .height = 4, .layered = true}), "number of layers"));
  ArrayDescriptor cube{.width = 4, .height = 4, .depth = 6, .cubemap = true};
  EXPECT_EQ(refusal(cube), "no error");
  cube.depth = 12;
  EXPECT_TRUE(contains(refusal(cube), "six faces"));
  cube.layered = true;
  EXPECT_EQ(refusal(cube), "no error");
  cube.depth = 8;
  EXPECT_TRUE(contains(refusal(cube), "4 x 4 x 8 of 1 x float32, layered, cubemap"));
  cube = {.width = 4, .height = 5, .depth = 6, .cubemap = true};
  EXPECT_TRUE(contains(refusal(cube), "six square faces"));
  EXPECT_TRUE(contains(refusal({.width = 4, .texture_gather = true}), "two dimensions"));
  EXPECT_TRUE(contains(refusal({.width = std::size_t{1} << 60, .height = 64, .depth = 64}),
                       "do not fit in 63 bits"));
}

TEST(CudaArray, BeyondTheLimitsOfTheDeviceIsRefused) {
  if (Device().is_cpu()) GTEST_SKIP() << "has no limits";
  const std::string text =
      error([] { CudaArray({.width = std::size_t{1} << 30, .dtype = TypeId::uint8}); });
  EXPECT_TRUE(contains(text, "refuses a CUDA array of 1073741824 x 0 x 0 of 1 x uint8")) << text;
}

TEST(CudaArray, ThatFindsNoMemoryIsAMemoryError) {
  const ArrayDescriptor d{.width = 16384, .height = 16384, .depth = 4096, .num_channels = 4};
  const std::string text = error<MemoryError>([&] { CudaArray array(d); });
  EXPECT_TRUE(contains(text, "a CUDA array of " + to_string(d) + " on ")) << text;
  EXPECT_TRUE(contains(text, "17592186044416 bytes")) << text;
  EXPECT_NO_THROW(CudaArray({.width = 8}));
}

class RefusedSides : public testing::Test {
 protected:
  RefusedSides() {
    copy_.set_src_host(host_);
    copy_.set_dst_array(array_);
    copy_.width_in_bytes = 20;
    copy_.height = 4;
    copy_.depth = 3;
  }
  std::string refusal() {
    return error([&] { copy_(); });
  }

  Bytes host_ = Bytes(1000);
  CudaArray array_ =
      CudaArray({.width = 10, .height = 5, .depth = 4, .dtype = TypeId::uint16, .num_channels = 2});
  Memcpy3D copy_;
};

TEST_F(RefusedSides, AreNoneIfAllFits) {
  EXPECT_EQ(refusal(), "no error");
  copy_.dst_x_in_bytes = 20;
  copy_.dst_y = copy_.dst_z = 1;
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(RefusedSides, BoxesThatLeaveTheArray) {
  copy_.dst_x_in_bytes = 24;
  EXPECT_TRUE(contains(refusal(),
                       "the destination is a CUDA array of 10 x 5 x 4 of 2 x uint16: 20 "
                       "bytes from 24 on leave its 40"))
      << refusal();
  copy_.dst_x_in_bytes = 0;
  copy_.dst_y = 2;
  EXPECT_TRUE(contains(refusal(), "4 rows from 2 on leave its 5")) << refusal();
  copy_.dst_y = 0;
  copy_.dst_z = 2;
  EXPECT_TRUE(contains(refusal(), "3 planes from 2 on leave its 4")) << refusal();
  copy_.dst_z = ~std::size_t{0};
  EXPECT_TRUE(contains(refusal(), "3 planes from 18446744073709551615 on")) << refusal();
}

TEST_F(RefusedSides, PartsOfElements) {
  copy_.dst_x_in_bytes = 2;
  EXPECT_TRUE(
      contains(refusal(), "an offset of 2 bytes, but the elements of the CUDA array have 4"))
      << refusal();
  copy_.dst_x_in_bytes = 0;
  copy_.width_in_bytes = 18;
  EXPECT_TRUE(contains(refusal(), "a width of 18 bytes")) << refusal();
}

TEST_F(RefusedSides, ElementsOfTwoSizes) {
  const CudaArray bytes({.width = 40, .height = 5, .depth = 4, .dtype = TypeId::uint8});
  copy_.set_src_array(bytes);
  EXPECT_TRUE(contains(refusal(), "their elements differ in size")) << refusal();
}

TEST_F(RefusedSides, LevelsOfDetail) {
  copy_.dst_lod = 1;
  EXPECT_TRUE(contains(refusal(), "level of detail 1")) << refusal();
}

TEST_F(RefusedSides, RowsOfOneDimension) {
  const CudaArray row({.width = 10});
  Memcpy2D copy;
  copy.set_src_array(row);
  copy.set_dst_host(host_);
  copy.width_in_bytes = 40;
  copy.height = 2;
  EXPECT_TRUE(contains(error([&] { copy(); }), "2 rows from 0 on leave its 1"));
  copy.height = 1;
  copy.src_y = 1;
  EXPECT_TRUE(contains(error([&] { copy(); }), "1 rows from 1 on leave its 1"));
}

TEST_F(RefusedSides, ArraysThatHaveBeenFreed) {
  array_.free();
  EXPECT_EQ(refusal(), "Memcpy3D: the destination is a CUDA array that has been freed");
  EXPECT_THROW(copy_.set_src_array(array_), LogicError);
  copy_.width_in_bytes = 0;
  EXPECT_EQ(refusal(), "Memcpy3D: the destination is a CUDA array that has been freed");
}

TEST_F(RefusedSides, ArraysOfTheCpuBesideAGpu) {
  if (Device().is_cpu()) GTEST_SKIP() << "wants a GPU beside the CPU";
  const CudaArray there({.width = 10, .height = 5, .depth = 4}, Device::cpu());
  copy_.set_dst_array(there);
  copy_();  // the host's memory is the CPU's
  const auto memory = mem_alloc(1000);
  copy_.set_src_device(memory);
  EXPECT_TRUE(contains(refusal(), "the call is for cpu")) << refusal();
  copy_.set_src_array(array_);
  EXPECT_TRUE(contains(refusal(), "is a CUDA array of cuda:0, the copy is for cpu")) << refusal();
  copy_.set_src_host(host_);
  EXPECT_TRUE(
      contains(error([&] { copy_(default_stream()); }), "a CUDA array of cpu, the copy is"));
}

}  // namespace
}  // namespace quarry
