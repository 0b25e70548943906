// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "memory/raw/boxes.hpp"

/// Structured copies of which a side, or both, are CUDA arrays, against plain loops.
namespace quarry {
namespace {

using test::Box;
using test::Bytes;
using test::copy_box;
using test::Extent;
using test::past;

enum class Form { rows, planes, blocks, layers_of_rows, layers, faces, cubes };
constexpr Form forms[] = {Form::rows,   Form::planes, Form::blocks, Form::layers_of_rows,
                          Form::layers, Form::faces,  Form::cubes};
constexpr TypeId types[] = {TypeId::int8,   TypeId::int16,  TypeId::int32,   TypeId::uint8,
                            TypeId::uint16, TypeId::uint32, TypeId::float16, TypeId::float32};
constexpr unsigned channels[] = {1, 2, 4};

bool has_rows(Form form) { return form != Form::rows && form != Form::layers_of_rows; }
bool has_planes(Form form) { return form != Form::rows && form != Form::planes; }
bool has_faces(Form form) { return form == Form::faces || form == Form::cubes; }

/// A box in elements, and arrays that hold it.
struct Scene {
  Scene(Form how, unsigned seed) : form(how), random(seed) {
    type = types[up_to(std::size(types))];
    count = channels[up_to(std::size(channels))];
    box = {up_to(20) + 1, has_rows(form) ? up_to(6) + 1 : 1, has_planes(form) ? up_to(5) + 1 : 1};
  }
  std::size_t up_to(std::size_t n) { return random() % n; }
  std::size_t element() const { return DType(type).itemsize() * count; }
  Box bytes() const { return {box.width * element(), box.height, box.depth}; }

  /// Where the box lies, in elements of an array.
  Extent place() {
    Extent e{up_to(4), has_rows(form) ? up_to(4) : 0, has_planes(form) ? up_to(2) : 0, 0, 0};
    e.pitch = e.x + box.width + up_to(3);
    e.height = has_rows(form) ? e.y + box.height + up_to(3) : 1;
    if (has_faces(form)) e.pitch = e.height = std::max(e.pitch, e.height);
    return e;
  }
  ArrayDescriptor descriptor(const Extent& e) {
    const std::size_t depth = has_faces(form) ? 6 : e.z + box.depth + up_to(3);
    return {.width = e.pitch,
            .height = has_rows(form) ? e.height : 0,
            .depth = !has_planes(form)     ? 0
                     : form == Form::cubes ? 12
                                           : depth,
            .dtype = type,
            .num_channels = count,
            .layered = has_planes(form) && form != Form::blocks && form != Form::faces,
            .cubemap = has_faces(form),
            .surface_load_store = up_to(2) == 1,
            .texture_gather = form == Form::planes && up_to(4) == 1};
  }

  Form form;
  std::mt19937 random;
  TypeId type;
  unsigned count;
  Box box{};
};

enum class Where { host, device, array };

/// All of an array from, or to, rows without gaps.
void put(const CudaArray& array, Bytes& bytes) {
  const ArrayDescriptor& d = array.descriptor();
  Memcpy3D copy;
  copy.set_src_host(bytes);
  copy.set_dst_array(array);
  copy.width_in_bytes = d.row_bytes();
  copy.height = d.rows();
  copy.depth = d.planes();
  copy();
}
Bytes contents(const CudaArray& array) {
  const ArrayDescriptor& d = array.descriptor();
  Bytes bytes(d.bytes());
  Memcpy3D copy;
  copy.set_src_array(array);
  copy.set_dst_host(bytes);
  copy.width_in_bytes = d.row_bytes();
  copy.height = d.rows();
  copy.depth = d.planes();
  copy();
  return bytes;
}

/// Random bytes on one side of the copy, and where the box lies in them.
struct Block {
  Block(Where place, Scene& scene, const Device& device = {}) : where(place) {
    extent = scene.place();
    const ArrayDescriptor d = scene.descriptor(extent);
    extent.x *= scene.element();
    extent.pitch *= scene.element();
    if (where == Where::host) {
      extent.x += scene.up_to(4);
      extent.pitch += 4 + scene.up_to(4);
    }
    bytes.resize(where == Where::array ? d.bytes() : past(extent, scene.bytes()));
    for (auto& b : bytes) b = static_cast<std::uint8_t>(scene.random());
    if (where == Where::device) {
      memory = mem_alloc(bytes.size(), device);
      memcpy_htod(memory, bytes);
    }
    if (where == Where::array) put(array.emplace(d, device), bytes);
  }
  Bytes now() const {
    if (where == Where::array) return contents(*array);
    Bytes back = bytes;
    if (where == Where::device) memcpy_dtoh(back, memory);
    return back;
  }
  /// An array's pitch and height are ignored.
  std::size_t pitch() const { return where == Where::array ? 1 : extent.pitch; }
  std::size_t height() const { return where == Where::array ? 1 : extent.height; }

  template <class Copy>
  void be_source(Copy& copy) {
    if (where == Where::host) copy.set_src_host(bytes);
    if (where == Where::device) copy.set_src_device(memory);
    if (where == Where::array) copy.set_src_array(*array);
    copy.src_x_in_bytes = extent.x;
    copy.src_y = extent.y;
    copy.src_pitch = pitch();
    if constexpr (requires { copy.src_z; }) {
      copy.src_z = extent.z;
      copy.src_height = height();
    }
  }
  template <class Copy>
  void be_destination(Copy& copy) {
    if (where == Where::host) copy.set_dst_host(bytes);
    if (where == Where::device) copy.set_dst_device(memory);
    if (where == Where::array) copy.set_dst_array(*array);
    copy.dst_x_in_bytes = extent.x;
    copy.dst_y = extent.y;
    copy.dst_pitch = pitch();
    if constexpr (requires { copy.dst_z; }) {
      copy.dst_z = extent.z;
      copy.dst_height = height();
    }
  }

  Where where;
  Extent extent{};
  Bytes bytes;
  DeviceAllocation memory;
  std::optional<CudaArray> array;
};

constexpr std::pair<Where, Where> routes[] = {{Where::array, Where::host},
                                              {Where::host, Where::array},
                                              {Where::array, Where::device},
                                              {Where::device, Where::array},
                                              {Where::array, Where::array}};

template <class Copy, class Run>
void compare_with_loops(Form form, Run&& run) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto [target, origin] = routes[seed % std::size(routes)];
    Scene scene(form, seed);
    Block to(target, scene), from(origin, scene);
    Copy copy;
    from.be_source(copy);
    to.be_destination(copy);
    const Box box = scene.bytes();
    copy.width_in_bytes = box.width;
    copy.height = box.height;
    if constexpr (requires { copy.depth; }) copy.depth = box.depth;
    Bytes expected = to.bytes;
    copy_box(expected, to.extent, from.bytes, from.extent, box);
    run(copy);
    EXPECT_EQ(to.now(), expected) << "seed " << seed << ", form " << static_cast<int>(form);
    EXPECT_EQ(from.now(), from.bytes);
  }
}

TEST(ArraySides, OfMemcpy2D) {
  for (const Form form : {Form::rows, Form::planes}) {
    compare_with_loops<Memcpy2D>(form, [](const Memcpy2D& copy) { copy(); });
  }
}
TEST(ArraySides, OfMemcpy2DUnaligned) {
  for (const Form form : {Form::rows, Form::planes}) {
    compare_with_loops<Memcpy2D>(form, [](const Memcpy2D& copy) { copy(false); });
  }
}
TEST(ArraySides, OfMemcpy2DInAStream) {
  const Stream s = stream();
  compare_with_loops<Memcpy2D>(Form::planes, [&](const Memcpy2D& copy) {
    copy(s);
    s.synchronize();
  });
}
TEST(ArraySides, OfMemcpy3D) {
  for (const Form form : forms) {
    compare_with_loops<Memcpy3D>(form, [](const Memcpy3D& copy) { copy(); });
  }
}
TEST(ArraySides, OfMemcpy3DInAStream) {
  const Stream s = stream();
  for (const Form form : forms) {
    compare_with_loops<Memcpy3D>(form, [&](const Memcpy3D& copy) {
      copy(s);
      s.synchronize();
    });
  }
}
TEST(ArraySides, OfMemcpy3DPeerOnOneDevice) {
  for (const Form form : forms) {
    compare_with_loops<Memcpy3DPeer>(form, [](Memcpy3DPeer& copy) {
      copy.set_src_context(Device());
      copy.set_dst_context(Device());
      copy();
    });
  }
}

TEST(ArraySides, OfMemcpy2DAreTheFirstPlaneOfABlock) {
  const CudaArray array({.width = 5, .height = 3, .depth = 2, .dtype = TypeId::uint8});
  Bytes all(30, 1), plane(15, 2);
  put(array, all);
  Memcpy2D copy;
  copy.set_src_host(plane);
  copy.set_dst_array(array);
  copy.width_in_bytes = 5;
  copy.height = 3;
  copy();
  std::copy(plane.begin(), plane.end(), all.begin());
  EXPECT_EQ(contents(array), all);
}

TEST(ArraySides, OfTwoDevices) {
  if (gpus.size() < 2) GTEST_SKIP() << "wants two GPUs";
  const Stream s = stream({.device = gpus[1]});
  for (unsigned seed = 0; seed < 24; ++seed) {
    const auto [target, origin] = routes[2 + seed % 3];
    Scene scene(Form::blocks, seed);
    Block to(target, scene, gpus[1]), from(origin, scene, gpus[0]);
    Memcpy3DPeer copy;
    from.be_source(copy);
    to.be_destination(copy);
    const Box box = scene.bytes();
    copy.width_in_bytes = box.width;
    copy.height = box.height;
    copy.depth = box.depth;
    copy.set_src_context(gpus[from.where == Where::array ? 1 : 0]);  // ignored for an array
    Bytes expected = to.bytes;
    copy_box(expected, to.extent, from.bytes, from.extent, box);
    if (seed % 2 == 0) {
      copy();
    } else {
      copy(s);
      s.synchronize();
    }
    EXPECT_EQ(to.now(), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quarry
