// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/kernels.md.
#include <quarry/array/cuda_array.hpp>
#include <quarry/array/device_view.hpp>
#include <quarry/memory/texture.hpp>
#include <quarry/ops/elementwise_kernel.hpp>
#include <quarry/ops/pointer_kernel.hpp>
#include <quarry/ops/reduction_kernel.hpp>
#include <quarry/ops/scan_kernel.hpp>
#include <quarry/quarry.hpp>

#include <vector>

#include "check.hpp"

namespace qy = quarry;

void on_a_gpu() {
  // example-begin launch
  auto a = qy::arange<float>(1000);
  auto mod = qy::compile(R"(
    extern "C" __global__ void add(float* a, float x, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) a[i] += x;
    }
  )");
  qy::Function add = mod.function("add");
  add.launch({.grid = 4, .block = 256}, a, 0.5f, 1000);
  add.forall(1000)(a, 0.5f, 1000);  // the block that occupies the GPU best
  // example-end
  CHECK(a.copy_to_host<std::vector<float>>()[999] == 1000);

  // example-begin host
  std::vector<float> host(100, 1.f);
  add.launch({.grid = 1, .block = 128}, qy::InOut(host), 1.f, 100);  // host[i] == 2
  // example-end
  CHECK(host[99] == 2);

  // example-begin prepared
  auto prepared = add.prepare<float*, float, int>();  // checked once, and by the compiler
  prepared.prepared_call(4, 256, a, 1.f, 1000);
  double seconds = prepared.prepared_timed_call(4, 256, a, 1.f, 1000)();
  // example-end
  CHECK(seconds >= 0);

  // example-begin template
  auto scaling = qy::compile(R"(
    __constant__ float weights[3];
    template <class T> __global__ void scale(T* a) { a[threadIdx.x] *= weights[threadIdx.x]; }
  )",
                             {.names = {"scale<float>", "scale<double>", "weights"}});
  scaling.global<float>("weights").copy_to_device(std::vector<float>{1, 2, 3});
  auto d = qy::ones<double>({3});
  scaling.function("scale<double>").launch({.block = 3}, d);  // d is {1, 2, 3}
  // example-end
  CHECK(d.copy_to_host<std::vector<double>>()[2] == 3);

  // example-begin ptx
  std::string ptx = qy::compile_ptx("extern \"C\" __global__ void idle() {}", {.cc = {8, 0}});
  auto loaded = qy::module_from_buffer(
      ptx, {.options = {{qy::JitOption::max_registers, 32}, {qy::JitOption::wall_time, 0}}});
  loaded.function("idle").launch({.block = 1});
  float milliseconds = *loaded.jit_report().wall_time;
  // example-end
  CHECK(milliseconds >= 0);

  // example-begin texture
  auto picture = qy::gpuarray_to_array(qy::arange<float>(16).reshape({4, 4}), qy::Order::c);
  qy::Texture texture(picture, {.filter_mode = qy::FilterMode::linear});
  auto zooming = qy::compile(R"(
    extern "C" __global__ void zoom(float* out, cudaTextureObject_t picture, float step) {
      const float x = threadIdx.x * step + 0.5f, y = threadIdx.y * step + 0.5f;
      out[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(picture, x, y);
    }
  )");
  auto zoomed = qy::zeros<float>({7, 7});
  zooming.function("zoom").launch({.block = {7, 7}}, zoomed, texture, 0.5f);  // zoomed(0, 1) is 0.5
  // example-end
  const float half = zoomed(0, 1).item();
  CHECK(half > 0.49f && half < 0.51f);

  // example-begin surface
  qy::SourceModule doubling(R"(
    #include <quarry/textures.cuh>
    __global__ void twice(cudaSurfaceObject_t surface) {
      const int x = threadIdx.x;
      fp_surf1Dwrite(2 * fp_surf1Dread<double>(surface, x), surface, x);
    }
  )");
  auto numbers = qy::np_to_array(std::vector<double>{1, 2, 3}, qy::Order::c, true);
  doubling.get_function("twice").launch({.block = 3}, qy::Surface(numbers));
  // example-end
  std::vector<double> twice(3);
  qy::memcpy_atoh(twice, numbers, 0);
  CHECK(twice[2] == 6);
}

void from_texts() {
  const auto x = qy::arange<float>(1, 7);
  // example-begin elementwise
  qy::ElementwiseKernel<float(float, float)> f("x, y", "x * x + y * 2", "squares");
  auto c = qy::eval(qy::sqrt(f(x, x - 1.f)) + 1.f);  // one kernel
  // example-end
  CHECK(c(0).item() == 2);

  // example-begin untyped
  qy::ElementwiseKernel split("T x, int32 by", "int32 whole, T rest",
                              "whole = (int)x / by; rest = x - whole * by", "split");
  auto [whole, rest] = split(x, 3).as<int, float>();
  split(x, 4).into(whole, rest);
  qy::ElementwiseKernel shift("raw T x", "T z", "z = x[(i + 1) % n]", "shift");
  shift(qy::Raw(x)).into(rest);  // rest is x, rolled
  // example-end
  CHECK(whole(5).item() == 1 && rest(5).item() == 1);

  // example-begin reduction
  qy::ReductionKernel<double(float, float), double> norm({.parameters = "x, y",
                                                          .map_expr = "double(x) * y",
                                                          .reduce_expr = "a + b",
                                                          .identity = "0",
                                                          .post_map_expr = "sqrt(a)",
                                                          .name = "norm"});
  double length = norm(x, x).item();
  auto rows = norm({.axes = 1}, x.reshape({2, 3}), 1);
  // example-end
  CHECK(length > 9.5 && length < 9.6 && rows(0).item() > 2.4);

  // example-begin scan
  qy::InclusiveScanKernel<float> running_max("a > b ? a : b");
  qy::ExclusiveScanKernel<int> offsets("a + b", "0");
  auto highest = running_max(x);
  auto starts = offsets(whole);  // 0, whole[0], whole[0] + whole[1], ...
  // example-end
  CHECK(highest(5).item() == 6 && starts(5).item() == 2);

  // example-begin pointers
  qy::PointerKernel axpy("float *y, const float *x, float a", "y[i] += a * x[i]", "axpy");
  auto y = qy::ones<float>({6});
  axpy(y, x, 2);
  axpy({.start = 0, .stop = 6, .step = 2}, y, x, -2);
  // example-end
  CHECK(y(0).item() == 1 && y(1).item() == 5);
}

void views() {
  // example-begin view
  auto viewer = qy::compile(R"(
    #include <quarry/device_view.cuh>
    extern "C" __global__ void twice(quarry::DeviceView<float, 2> v) {
      const long i = threadIdx.y, j = threadIdx.x;
      if (i < v.extent(0) && j < v.extent(1)) v(i, j) *= 2;
    }
  )");
  auto matrix = qy::ones<float>({8, 8});
  auto columns = matrix.transpose()(qy::range(0, 8, 2), qy::all);  // any layout
  viewer.function("twice").launch({.block = {8, 8}}, qy::view_of<2>(columns));
  // example-end
  CHECK(qy::sum(matrix).item() == 96);
}

void handlers() {
  qy::Function add = qy::compile(R"(extern "C" __global__ void add(float* a, float x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += x;
  })")
                         .function("add");
  // example-begin handler
  struct Counted : qy::ArgumentHandler {
    qy::DeviceNDArray<float> memory = qy::zeros<float>({1000});
    mutable int launches = 0;
    const auto& get_device_alloc() const { return memory; }     // what the kernel gets
    void pre_call(const qy::Stream&) const { memory.fill(1); }  // before the launch
    void post_call(const qy::Stream&) const { ++launches; }     // after it
  };
  Counted counted;
  add.launch({.grid = 4, .block = 256}, counted, 2.f, 1000);  // counted.memory is 3
  // example-end
  CHECK(qy::sum(counted.memory).item() == 3000 && counted.launches == 1);
}

void linking() {
  // example-begin link
  qy::Linker linker({.lto = true});
  linker.add_cu("extern \"C\" __device__ float square(float x) { return x * x; }");
  linker.add_cu(R"(
    extern "C" __device__ float square(float);
    extern "C" __global__ void squares(float* a) { a[threadIdx.x] = square(a[threadIdx.x]); }
  )");
  auto linked = qy::module_from_linker(linker);
  auto numbers = qy::arange<float>(32);
  linked.function("squares").launch({.block = 32}, numbers);
  // example-end
  CHECK(numbers.copy_to_host<std::vector<float>>()[31] == 961);
}

void meetings() {
  // example-begin meet
  auto meeting = qy::compile(R"(
    extern "C" __global__ void meet(int* arrived, int* met) {
      if (threadIdx.x != 0) return;
      atomicAdd(arrived, 1);
      while (atomicAdd(arrived, 0) < gridDim.x) {}
      met[blockIdx.x] = 1;
    }
  )");
  auto meet = meeting.function("meet");
  auto arrived = qy::zeros<int>({1}), met = qy::zeros<int>({4});
  meet.launch({.grid = 4, .block = 32, .cooperative = true}, arrived, met);
  // example-end
  CHECK(qy::sum(met).item() == 4);
}

bool has_linker() {
  try {
    return qy::nvjitlink_version().first > 0;
  } catch (const qy::BackendUnavailable&) {
    return false;
  }
}

int main() {
  if (qy::Device().is_cpu()) return 0;
  on_a_gpu();
  views();
  handlers();
  meetings();
  if (has_linker()) linking();
  from_texts();
}
