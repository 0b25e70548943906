// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/texture.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_driver/test_device.hpp"
#include "message_of.hpp"
#include "moved_from.hpp"

/// Textures and surfaces as objects: what they are, what they are made of, and what is refused.
/// What kernels read is in array/cuda_texture_test.cpp.
namespace quarry {
namespace {

using test::message_of;

class Textures : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "textures are for GPUs";
    alignment = static_cast<std::size_t>(Device().attribute("TEXTURE_ALIGNMENT"));
  }
  /// Bytes at a multiple of the alignment of textures.
  DeviceAllocation memory(std::size_t bytes) {
    const DeviceAllocation all = mem_alloc(bytes + alignment);
    const std::size_t past = DevicePtr(all).address() % alignment;
    return all.view(past == 0 ? 0 : alignment - past);
  }
  static bool says(const std::string& message, const char* part) {
    return message.find(part) != std::string::npos;
  }

  std::size_t alignment = 0;
};

constexpr ArrayDescriptor plane{.width = 8, .height = 4};

TEST(TexturesOfTheCpu, AreRefusedWithTheReason) {
  const auto cpu = Device::cpu();
  const CudaArray array({.width = 8, .surface_load_store = true}, cpu), other({.width = 8}, cpu);
  constexpr auto reason = "the CPU device has no textures and surfaces: only GPUs do";
  EXPECT_EQ(message_of<LogicError>([&] { Texture{array}; }), reason);
  EXPECT_EQ(message_of<LogicError>([&] { Texture(array, {.max_anisotropy = 99}); }), reason);
  EXPECT_EQ(message_of<LogicError>([&] { Surface{array}; }), reason);
  EXPECT_EQ(message_of<LogicError>([&] { Surface{other}; }), reason);
  const DeviceAllocation memory = mem_alloc(512, cpu);
  EXPECT_EQ(message_of<LogicError>([&] { Texture::linear(memory, 512, {}); }), reason);
  EXPECT_EQ(message_of<LogicError>([&] { Texture::pitched(memory, plane, 64); }), reason);
}

TEST(TextureFormats, AreThoseOfTheElementsOrChannelsOf32Bits) {
  EXPECT_EQ(texture_format(TypeId::uint16), (TextureFormat{TypeId::uint16, 1}));
  EXPECT_EQ(texture_format(TypeId::float32), (TextureFormat{TypeId::float32, 1}));
  EXPECT_EQ(texture_format(TypeId::float64), (TextureFormat{TypeId::int32, 2}));
  EXPECT_EQ(texture_format(TypeId::complex64), (TextureFormat{TypeId::float32, 2}));
  EXPECT_EQ(texture_format(TypeId::complex128), (TextureFormat{TypeId::int32, 4}));
  for (const DType type : {TypeId::bool_, TypeId::int64, TypeId::uint64, TypeId::bfloat16}) {
    EXPECT_THROW(texture_format(type), DTypeError) << to_string(type);
  }
  for (std::size_t id = 0; id < type_count; ++id) {  // of the same size, where there is one
    const DType type = TypeId(id);
    if (is_texture_type(type)) {
      EXPECT_EQ(texture_format(type).element_bytes(), type.itemsize());
    }
  }
  EXPECT_EQ(texture_format(TypeId::complex128).element_bytes(), 16U);
  EXPECT_EQ(to_string(TextureFormat{TypeId::uint8, 4}), "4 x uint8");
}

TEST_F(Textures, KnowWhatTheyAre) {
  const CudaArray array({.width = 8, .height = 4, .dtype = TypeId::uint8, .num_channels = 4});
  const TextureOptions options{
      .address_mode = {AddressMode::wrap, AddressMode::mirror, AddressMode::border},
      .filter_mode = FilterMode::linear,
      .read_as_integer = false,
      .normalized_coordinates = true,
      .srgb = true,
      .border_color = {0.5f, 1, 2, 3},
      .max_anisotropy = 4};
  const Texture texture(array, options);
  EXPECT_NE(texture.handle(), 0U);
  EXPECT_EQ(texture.device(), Device());
  EXPECT_EQ(texture.offset(), 0U);
  EXPECT_EQ(texture.options(), options);
  EXPECT_EQ(texture.get_array(), array);
  EXPECT_EQ(texture.get_array().descriptor(), array.descriptor());
  EXPECT_EQ(texture.get_address_mode(0), AddressMode::wrap);
  EXPECT_EQ(texture.get_address_mode(1), AddressMode::mirror);
  EXPECT_EQ(texture.get_address_mode(2), AddressMode::border);
  EXPECT_THROW(texture.get_address_mode(3), IndexError);
  EXPECT_THROW(texture.get_address_mode(-1), IndexError);
  EXPECT_EQ(texture.get_filter_mode(), FilterMode::linear);
  EXPECT_EQ(texture.get_format(), (TextureFormat{TypeId::uint8, 4}));
  EXPECT_EQ(texture.get_flags(), TRSF_NORMALIZED_COORDINATES | TRSF_SRGB);
  EXPECT_NE(Texture(array).handle(), texture.handle());
}

TEST_F(Textures, ReadTheElementsAsTheyAreUnlessAsked) {
  const CudaArray integers({.width = 8, .dtype = TypeId::int16}), floats({.width = 8});
  EXPECT_EQ(Texture(integers).options(), TextureOptions());
  EXPECT_EQ(Texture(integers).get_flags(), TRSF_READ_AS_INTEGER);
  EXPECT_EQ(Texture(integers, {.read_as_integer = false}).get_flags(), 0U);
  EXPECT_EQ(Texture(floats).get_flags(), 0U);
  const CudaArray cube({.width = 4, .height = 4, .depth = 6, .cubemap = true});
  EXPECT_EQ(Texture(cube, {.seamless_cubemap = true}).get_flags(),
            TRSF_SEAMLESS_CUBEMAP | TRSF_NORMALIZED_COORDINATES);
}

TEST_F(Textures, KeepTheirArray) {
  std::optional<CudaArray> array(std::in_place, plane);
  const void* const handle = array->handle();
  const Texture texture(*array);
  array->free();
  EXPECT_THROW(Texture{*array}, LogicError);
  array.reset();
  const CudaArray same = texture.get_array();
  EXPECT_EQ(same.handle(), handle);
  Memcpy2D copy;  // the array is alive
  const std::vector<float> from(32, 2);
  copy.set_src_host(from);
  copy.set_dst_array(same);
  copy.width_in_bytes = 32, copy.height = 4;
  copy();
}

TEST_F(Textures, AreRefusedWhereTheArrayDoesNotAllowTheOptions) {
  const CudaArray floats(plane), bytes({.width = 8, .dtype = TypeId::uint8}),
      words({.width = 8, .dtype = TypeId::int32}),
      layers({.width = 8, .height = 4, .depth = 2, .layered = true});
  const auto refused = [](const CudaArray& array, const TextureOptions& options) {
    return message_of<LogicError>([&] { Texture(array, options); });
  };
  for (const AddressMode mode : {AddressMode::wrap, AddressMode::mirror}) {
    TextureOptions options;
    options.address_mode[1] = mode;
    EXPECT_EQ(refused(floats, options),
              "a texture of a CUDA array of 8 x 4 x 0 of 1 x float32: the address mode " +
                  to_string(mode) + " along axis 1 needs normalised coordinates");
    EXPECT_EQ(refused(bytes, options), "no error");  // has no such axis
    options.normalized_coordinates = true;
    EXPECT_EQ(refused(floats, options), "no error");
  }
  const AddressMode clamp = AddressMode::clamp, border = AddressMode::border;
  EXPECT_EQ(refused(floats, {.address_mode = {border, border, border}}), "no error");
  // layers are no axis
  EXPECT_EQ(refused(layers, {.address_mode = {clamp, clamp, AddressMode::wrap}}), "no error");

  constexpr TextureOptions linear{.filter_mode = FilterMode::linear};
  constexpr TextureOptions normalized{.filter_mode = FilterMode::linear, .read_as_integer = false};
  EXPECT_EQ(refused(floats, linear), "no error");
  EXPECT_EQ(refused(bytes, normalized), "no error");
  EXPECT_TRUE(says(refused(bytes, linear), "linear filters are for floats"));
  EXPECT_TRUE(says(refused(words, linear), "linear filters are for floats"));
  EXPECT_TRUE(says(refused(words, normalized), "linear filters are for floats"));
  EXPECT_TRUE(says(refused(bytes, {.srgb = true}), "sRGB is for uint8"));
  EXPECT_TRUE(says(refused(floats, {.read_as_integer = false, .srgb = true}), "sRGB is for uint8"));
  EXPECT_TRUE(says(refused(floats, {.max_anisotropy = 17}), "a largest anisotropy of 17"));
  EXPECT_TRUE(says(refused(floats, {.max_anisotropy = 0}), "a largest anisotropy of 0"));
  EXPECT_TRUE(says(refused(floats, {.seamless_cubemap = true}), "only cubemaps can be seamless"));
}

TEST_F(Textures, OfLinearMemoryBeginAtMultiplesOfTheAlignment) {
  const DeviceAllocation all = memory(4096);
  const TextureFormat format{TypeId::float32, 4};
  const Texture texture = Texture::linear(all, 512, format);
  EXPECT_EQ(texture.offset(), 0U);
  EXPECT_EQ(texture.get_format(), format);
  EXPECT_THROW(texture.get_array(), LogicError);

  const DevicePtr inside = all + 48;
  EXPECT_EQ(message_of<LogicError>([&] { Texture::linear(inside, 512, format); }),
            "a texture of memory at " + to_string(inside) +
                ": it is 48 bytes behind a multiple of " + std::to_string(alignment) +
                ", where textures begin");
  EXPECT_EQ(Texture::linear(inside, 512, format, {}, true).offset(), 48U);
  EXPECT_TRUE(says(message_of<LogicError>([&] { Texture::linear(all + 8, 512, format, {}, true); }),
                   "the offset of 8 bytes is no multiple of the element's 16"));
  EXPECT_EQ(Texture::linear(all.view(64), 16, format, {}, true).offset(), 64U);
}

TEST_F(Textures, OfLinearMemoryLieWithinIt) {
  const DeviceAllocation all = memory(4096).view(0, 4096);
  const DeviceAllocation end = all.view(4096 - alignment);
  Texture::linear(end, alignment, {});
  // the whole of `all` has some bytes more at its end
  const std::size_t beyond = 8192 + 2 * alignment;
  EXPECT_TRUE(says(message_of<LogicError>([&] { Texture::linear(all, beyond, {}); }),
                   "are not within the allocation"));
  EXPECT_TRUE(says(message_of<LogicError>([&] { Texture::linear(all, 0, {}); }), "it has none"));
  EXPECT_EQ(message_of<LogicError>([&] { Texture::linear(all, 18, {}); }),
            "a texture of 18 bytes, which are no whole elements of 1 x float32");
  EXPECT_TRUE(says(message_of<LogicError>([&] {
                     Texture::linear(all, 512, {TypeId::float64, 1});
                   }),
                   "not 1 x float64"));
  EXPECT_TRUE(says(message_of<LogicError>([&] {
                     Texture::linear(all, 24, {TypeId::int16, 3});
                   }),
                   "not 3 x int16"));
  const TextureOptions linear{.filter_mode = FilterMode::linear};
  const TextureOptions normalized{.normalized_coordinates = true};
  for (const TextureOptions& options : {linear, normalized}) {
    EXPECT_TRUE(says(message_of<LogicError>([&] { Texture::linear(all, 512, {}, options); }),
                     "it is read by index"));
  }
}

TEST_F(Textures, OfPitchedMemoryHaveRows) {
  const PitchedAllocation rows = mem_alloc_pitch(8 * sizeof(float), 4);
  const Texture texture =
      Texture::pitched(rows.allocation, plane, rows.pitch, {.filter_mode = FilterMode::linear});
  EXPECT_EQ(texture.get_format(), TextureFormat());
  EXPECT_EQ(texture.get_filter_mode(), FilterMode::linear);
  const auto refused = [&](const ArrayDescriptor& descriptor, std::size_t pitch) {
    return message_of<LogicError>([&] { Texture::pitched(rows.allocation, descriptor, pitch); });
  };
  EXPECT_TRUE(says(refused(plane, rows.pitch + 4), "a pitch of "));
  EXPECT_TRUE(says(refused({.width = 1024, .height = 1}, 32), "at least 4096"));
  EXPECT_TRUE(says(refused({.width = 8, .height = 1 << 20}, rows.pitch), "not within"));
  EXPECT_TRUE(says(refused({.width = 8, .height = 4, .depth = 1}, rows.pitch), "two axes"));
  EXPECT_TRUE(
      says(refused({.width = 8, .height = 4, .dtype = TypeId::int64}, rows.pitch), "int64"));
  EXPECT_TRUE(says(
      message_of<LogicError>([&] { Texture::pitched(rows.allocation + 16, plane, rows.pitch); }),
      "it is 16 bytes behind"));
}

TEST_F(Textures, OfMemoryKeepIt) {
  const Texture texture = [&] {
    DeviceAllocation all = memory(1024);
    Texture made = Texture::linear(all, 1024, {});
    all.free();
    return made;
  }();
  EXPECT_EQ(texture.get_format(), TextureFormat());
}

TEST_F(Textures, AreHandles) {
  const CudaArray array(plane);
  Texture first(array);
  const Texture second = first;
  EXPECT_EQ(first.handle(), second.handle());
  const Texture third = std::move(first);
  EXPECT_EQ(third.handle(), second.handle());
  test::expect_refused("handle", [&] { first.handle(); });
  test::expect_refused("options", [&] { first.options(); });
  first = second;
  EXPECT_EQ(first.handle(), second.handle());
}

TEST_F(Textures, OfTheCurrentOrAnotherDevice) {
  if (gpus.size() < 2) GTEST_SKIP() << "needs two GPUs";
  const CudaArray there(plane, gpus[1]);
  EXPECT_EQ(Texture(there).device(), gpus[1]);
}

TEST_F(Textures, KeepTheDeviceFromAReset) {
  const CudaArray array({.width = 8, .surface_load_store = true});
  const Texture texture(array);
  const Surface surface(array);
  EXPECT_TRUE(says(message_of<LogicError>([] { Device().reset(); }), "2 textures and surfaces"));
}

TEST_F(Textures, HaveSurfacesBesideThem) {
  const CudaArray closed(plane);
  EXPECT_EQ(message_of<LogicError>([&] { Surface{closed}; }),
            "a surface of a CUDA array of 8 x 4 x 0 of 1 x float32: it must be made with "
            "surface_load_store");
  std::optional<CudaArray> array(
      std::in_place, ArrayDescriptor{.width = 8, .height = 4, .surface_load_store = true});
  Surface surface(*array);
  const Texture texture(*array);
  EXPECT_NE(surface.handle(), 0U);
  EXPECT_EQ(surface.device(), Device());
  EXPECT_EQ(surface.get_array(), *array);
  EXPECT_EQ(texture.get_array(), surface.get_array());
  array.reset();
  EXPECT_EQ(surface.get_array().descriptor().width, 8U);
  const Surface moved = std::move(surface);
  EXPECT_EQ(moved.get_array().descriptor().width, 8U);
  test::expect_refused("handle", [&] { surface.handle(); });
}

}  // namespace
}  // namespace quarry
