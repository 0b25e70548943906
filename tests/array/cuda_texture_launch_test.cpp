// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array.hpp>
#include <quarry/array/module.hpp>
#include <quarry/array/texture.hpp>
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "array/model.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "message_of.hpp"

/// Textures and surfaces as arguments of kernels: which elements a kernel gets, and how long they
/// and the objects live.
namespace quarry {
namespace {

using fake::HostLaunch;
using test::message_of;
using test::values;

constexpr const char* source = R"(
#include <quarry/textures.cuh>
extern "C" __global__ void fetch(float* out, cudaTextureObject_t texture, int first, int n) {
  for (int i = 0; i < n; ++i) out[i] = fp_tex1Dfetch<float>(texture, first + i);
}
extern "C" __global__ void fetch_doubles(double* out, cudaTextureObject_t texture, int n) {
  for (int i = 0; i < n; ++i) out[i] = fp_tex1Dfetch<double>(texture, i);
}
extern "C" __global__ void fetch_colours(float4* out, cudaTextureObject_t texture, int n) {
  for (int i = 0; i < n; ++i) out[i] = tex1Dfetch<float4>(texture, i);
}
extern "C" __global__ void plane(float* out, cudaTextureObject_t texture, int width, int height) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
  }
}
extern "C" __global__ void sum_of_planes(float* out, cudaTextureObject_t a, cudaTextureObject_t b,
                                         int width, int height) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float u = x + 0.5f, v = y + 0.5f;
      out[y * width + x] = tex2D<float>(a, u, v) + tex2D<float>(b, u, v);
    }
  }
}
extern "C" __global__ void add(cudaSurfaceObject_t surface, float value, int n) {
  for (int i = 0; i < n; ++i) fp_surf1Dwrite(fp_surf1Dread<float>(surface, i) + value, surface, i);
}
)";

int count(const HostLaunch& launch, std::size_t k) {
  return static_cast<int>(launch.value<std::int32_t>(k));
}

/// What the source says, for the fake driver.
template <class T>
void fetch_on_host(const HostLaunch& launch, std::size_t first, std::size_t n) {
  const auto out = launch.memory<T>(0, n);
  for (std::size_t i = 0; i < n; ++i) out[i] = launch.texel<T>(1, first + i);
}
void plane_on_host(const HostLaunch& launch) {
  const auto width = std::size_t(count(launch, 2)), height = std::size_t(count(launch, 3));
  const auto out = launch.memory<float>(0, width * height);
  for (std::size_t i = 0; i < width * height; ++i) {
    out[i] = launch.texel<float>(1, i % width, i / width);
  }
}
void add_on_host(const HostLaunch& launch) {
  for (std::size_t i = 0; i < std::size_t(count(launch, 2)); ++i) {
    launch.texel<float>(0, i) += launch.value<float>(1);
  }
}
void sum_of_planes_on_host(const HostLaunch& launch) {
  const auto width = std::size_t(count(launch, 3)), height = std::size_t(count(launch, 4));
  const auto out = launch.memory<float>(0, width * height);
  for (std::size_t i = 0; i < width * height; ++i) {
    out[i] =
        launch.texel<float>(1, i % width, i / width) + launch.texel<float>(2, i % width, i / width);
  }
}
using Colour = std::array<float, 4>;

class TextureArguments : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "kernels from source run on GPUs";
    if (test::kind() != test::Kind::fake) return;
    fake::set_host_kernel("fetch", {{8, 8, 4, 4}, [](const HostLaunch& launch) {
                                      fetch_on_host<float>(launch, std::size_t(count(launch, 2)),
                                                           std::size_t(count(launch, 3)));
                                    }});
    fake::set_host_kernel("fetch_doubles", {{8, 8, 4}, [](const HostLaunch& launch) {
                                              fetch_on_host<double>(launch, 0,
                                                                    std::size_t(count(launch, 2)));
                                            }});
    fake::set_host_kernel("fetch_colours", {{8, 8, 4}, [](const HostLaunch& launch) {
                                              fetch_on_host<Colour>(launch, 0,
                                                                    std::size_t(count(launch, 2)));
                                            }});
    fake::set_host_kernel("plane", {{8, 8, 4, 4}, plane_on_host});
    fake::set_host_kernel("sum_of_planes", {{8, 8, 8, 4, 4}, sum_of_planes_on_host});
    fake::set_host_kernel("add", {{8, 4, 4}, add_on_host});
  }

  static Function kernel(const char* name) { return compile(source).function(name); }
};

std::vector<float> counted(int n) {
  std::vector<float> list(static_cast<std::size_t>(n));
  std::iota(list.begin(), list.end(), 1.f);
  return list;
}

/// A column of rows of 512 bytes, where textures may begin.
DeviceNDArray<float> aligned(const std::vector<float>& host) {
  const DeviceAllocation memory = mem_alloc(host.size() * sizeof(float) + 512);
  const std::size_t past = DevicePtr(memory).address() % 512;
  const auto buffer = memory.as_buffer(host.size() * sizeof(float), past == 0 ? 0 : 512 - past);
  const auto n = static_cast<std::int64_t>(host.size());
  DeviceNDArray<float> array({Shape{n}, Strides{sizeof(float)}}, buffer->data(), buffer);
  array.copy_to_device(host);
  return array;
}

TEST_F(TextureArguments, AreReadByIndex) {
  const auto a = aligned(counted(64));
  const auto out = zeros<float>({64});
  const Texture texture = linear_texture(a);
  kernel("fetch").launch({.block = 1}, out, texture, 0, 64);
  EXPECT_EQ(values(out), counted(64));

  const auto part = a(range(16, 48));  // 64 bytes on
  EXPECT_THROW(linear_texture(part), LogicError);
  const Texture offset = linear_texture(part, {}, 1, true);
  EXPECT_EQ(offset.offset(), 64U);
  kernel("fetch").launch({.block = 1}, out, offset, int(offset.offset() / sizeof(float)), 32);
  for (int i = 0; i < 32; ++i) ASSERT_EQ(values(out)[std::size_t(i)], float(i + 17));
  EXPECT_THROW(linear_texture(a(range(0, 64, 2))), LogicError);
}

TEST_F(TextureArguments, HaveChannelsAndWideElements) {
  const auto a = aligned(counted(64));
  const auto out = zeros<float>({64});
  kernel("fetch_colours").launch({.block = 1}, out, linear_texture(a, {}, 4), 16);
  EXPECT_EQ(values(out), counted(64));
  EXPECT_THROW(linear_texture(a, {}, 3), LogicError);

  const auto doubles = a.buffer();
  const DeviceNDArray<double> d({Shape{32}, Strides{8}}, doubles->data(), doubles);
  d.copy_to_device(std::vector<double>(32, -1.0 / 3));
  const auto wide = zeros<double>({32});
  kernel("fetch_doubles").launch({.block = 1}, wide, linear_texture(d), 32);
  EXPECT_EQ(values(wide), std::vector<double>(32, -1.0 / 3));
  EXPECT_EQ(linear_texture(d).get_format(), (TextureFormat{TypeId::int32, 2}));
  EXPECT_NE(message_of<LogicError>([&] {
              linear_texture(d, {}, 2);
            }).find("2 channels of float64, which are 2 x int32 themselves"),
            std::string::npos);
}

TEST_F(TextureArguments, HaveRows) {
  const auto a = aligned(counted(4 * 128)).reshape({4, 128});
  const auto some = a(range(_), range(0, 5));
  const auto out = zeros<float>({20});
  kernel("plane").launch({.block = 1}, out, pitched_texture(some), 5, 4);
  EXPECT_EQ(values(out), values(some));
  kernel("plane").launch({.block = 1}, out, pitched_texture(a(range(1, 2), range(0, 20))), 20, 1);
  EXPECT_EQ(values(out), values(a(range(1, 2), range(0, 20))));
  EXPECT_EQ(pitched_texture(a, {}, 4).get_format(), (TextureFormat{TypeId::float32, 4}));
  EXPECT_THROW(pitched_texture(a(0)), ShapeError);
  EXPECT_THROW(pitched_texture(a(range(_), range(0, 8, 2))), LogicError);
  EXPECT_THROW(pitched_texture(a(range(_), range(0, 6)), {}, 4), LogicError);
  EXPECT_THROW(pitched_texture(a(range(3, _, -1))), LogicError);
}

TEST_F(TextureArguments, OfOneKernelMayBeSeveral) {
  const auto a = to_device(counted(12)).reshape({3, 4}), b = eval(100.f * a);
  const Texture first(gpuarray_to_array(a, Order::c)), second(gpuarray_to_array(b, Order::c));
  const auto out = zeros<float>({12});
  kernel("sum_of_planes").launch({.block = 1}, out, first, second, 4, 3);
  EXPECT_EQ(values(out), values(eval(101.f * a)));
}

TEST_F(TextureArguments, OfArraysMayBeDroppedWhileTheKernelIsQueued) {
  const Stream in = stream({.non_blocking = true});
  const Function plane = kernel("plane");
  const auto out = zeros<float>({12}), other = zeros<float>({12});
  plane.launch({.block = 1},  // a driver may wait when it loads the kernel
               other, Texture(np_to_array(counted(12), Order::c)), 12, 1);
  synchronize();
  std::optional<CudaArray> array =
      gpuarray_to_array(to_device(counted(12)).reshape({3, 4}), Order::c);
  std::optional<Texture> texture(*array);
  {
    test::Gate gate(in);
    plane.launch({.block = 1, .stream = in}, out, *texture, 4, 3);
    array.reset(), texture.reset();
  }
  in.synchronize();
  EXPECT_EQ(values(out), counted(12));
}

TEST_F(TextureArguments, OfMemoryMayBeDroppedWhileTheKernelIsQueued) {
  const Stream in = stream({.non_blocking = true});
  const Function fetch = kernel("fetch");
  const auto out = zeros<float>({64});
  fetch.launch({.block = 1}, out, linear_texture(aligned(counted(64))), 0, 64);
  out.fill(0);
  synchronize();
  std::optional<Texture> texture = linear_texture(aligned(counted(64)));
  {
    test::Gate gate(in);
    fetch.launch({.block = 1, .stream = in}, out, *texture, 0, 64);
    texture.reset();
  }
  in.synchronize();
  EXPECT_EQ(values(out), counted(64));
}

TEST_F(TextureArguments, AreDestroyedWhenTheKernelIsDone) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
  const Stream in = stream({.non_blocking = true});
  const Function plane = kernel("plane");
  const auto out = zeros<float>({12});
  const std::size_t before = fake::live().textures, arrays = fake::live().arrays;
  {
    test::Gate gate(in);
    plane.launch({.block = 1, .stream = in}, out, Texture(np_to_array(counted(12), Order::c)), 12,
                 1);
    EXPECT_EQ(fake::live().textures, before + 1);
    EXPECT_EQ(fake::live().arrays, arrays + 1);
  }
  in.synchronize();
  EXPECT_EQ(fake::live().textures, before);
  EXPECT_EQ(fake::live().arrays, arrays);
}

TEST_F(TextureArguments, OfGraphsLiveAsLongAsTheGraph) {
  const Function plane = kernel("plane");
  const auto out = zeros<float>({12});
  std::optional<CudaArray> array = np_to_array(counted(12), Order::c);
  std::optional<Texture> texture(*array);
  plane.launch({.block = 1}, out, *texture, 12, 1);  // the kernel is loaded
  const Graph graph = capture([&] {
    plane.launch({.block = 1}, out, *texture, 12, 1);
    array.reset(), texture.reset();
  });
  for (int round = 0; round < 2; ++round) {
    out.fill(0);
    graph.launch();
    EXPECT_EQ(values(out), counted(12));
  }
}

TEST_F(TextureArguments, AreSurfacesThatKernelsWrite) {
  const Stream in = stream({.non_blocking = true});
  const CudaArray array({.width = 12, .surface_load_store = true});
  memcpy_htoa(array, 0, counted(12));
  const Function add = kernel("add");
  add.launch({.block = 1}, Surface(array), 0.f, 12);
  synchronize();
  std::optional<Surface> surface(array);
  {
    test::Gate gate(in);
    add.launch({.block = 1, .stream = in}, *surface, 10.f, 12);
    surface.reset();
  }
  in.synchronize();
  std::vector<float> back(12);
  memcpy_atoh(back, array, 0);
  EXPECT_EQ(back[0], 11);
  EXPECT_EQ(back[11], 22);
}

TEST_F(TextureArguments, AreNumbersOf64BitsToPreparedKernels) {
  const auto fetch = kernel("fetch").prepare<float*, unsigned long long, int, int>();
  const auto out = zeros<float>({64});
  const Texture texture = linear_texture(aligned(counted(64)));
  fetch.prepared_call(1, 1, out, texture, 0, 64);
  EXPECT_EQ(values(out), counted(64));
  out.fill(0);
  kernel("fetch").launch({.block = 1}, out, texture.handle(), 0, 64);
  EXPECT_EQ(values(out), counted(64));
}

TEST_F(TextureArguments, LieOnTheDeviceOfTheKernel) {
  if (gpus.size() < 2) GTEST_SKIP() << "needs two GPUs";
  const CudaArray there({.width = 8}, gpus[1]);
  const auto out = zeros<float>({8});
  EXPECT_EQ(message_of<LogicError>(
                [&] { kernel("plane").launch({.block = 1}, out, Texture(there), 8, 1); }),
            "the kernel plane is loaded on cuda:0, argument 1 (from 0) lies on cuda:1");
}

TEST_F(TextureArguments, HaveAHeaderThatIsNoFile) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counted by the fake compiler";
  if (kernel_cache_info().path.empty()) GTEST_SKIP() << "the disk cache is disabled";
  const auto compilations = [](const std::string& text) {
    const auto before = fake::statistics().compilations;
    compile(text);
    return fake::statistics().compilations - before;
  };
  const std::string own = source + ("// " + std::to_string(::getpid()));
  EXPECT_EQ(compilations(own), 1);
  EXPECT_EQ(compilations(own), 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(compilations("// #include <quarry/textures.cuh> #include \"x\"\n" + own), 1);
    EXPECT_EQ(compilations("// #include \"quarry/textures.cuh\"\n" + own), 1);
  }
  EXPECT_THROW(compile("#include <quarry/nothing.cuh>\n__global__ void f() {}"), CompileError);
}

}  // namespace
}  // namespace quarry
