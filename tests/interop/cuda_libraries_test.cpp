// SPDX-License-Identifier: BSD-3-Clause
// Other CUDA libraries in the process: the CUDA runtime and cuBLAS, where they are installed. They
// share the device's primary context, so that memory and streams go both ways without a copy.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <quarry/memory/graph_memory.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "fake_driver/test_device.hpp"
#include "gate.hpp"

namespace quarry {
namespace {

/// The first of `names` that is here, for the whole process.
void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

/// Functions of a C interface by their names.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) : library_(open_library(names)) {}
  explicit operator bool() const { return library_; }
  /// Calls a function that gives a status, which has to be 0.
  template <class... A>
  void call(const char* name, A... arguments) const {
    auto* const function = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
    ASSERT_NE(function, nullptr) << name;
    EXPECT_EQ(function(arguments...), 0) << name;
  }

 private:
  void* library_;
};

constexpr int to_device_kind = 1, to_host_kind = 2;  // cudaMemcpyKind

class CudaRuntime : public testing::Test {
 protected:
  CudaRuntime() : cuda({"libcudart.so.13", "libcudart.so.12"}) {}
  void SetUp() override {
    if (test::kind() != test::Kind::cuda) GTEST_SKIP() << "the runtime has a driver of its own";
    if (!cuda) GTEST_SKIP() << "no CUDA runtime on this machine";
    cuda.call("cudaSetDevice", 0);
  }

  float* allocate(const std::vector<float>& values) const {
    void* memory = nullptr;
    const std::size_t bytes = values.size() * sizeof(float);
    cuda.call("cudaMalloc", &memory, bytes);
    cuda.call("cudaMemcpy", memory, static_cast<const void*>(values.data()), bytes, to_device_kind);
    return static_cast<float*>(memory);
  }

  const Library cuda;
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.f);
  return values;
}

TEST_F(CudaRuntime, ItsMemoryIsAnArray) {
  const std::vector<float> values = counted(1000);
  float* const memory = allocate(values);
  {
    const std::shared_ptr<void> owner(memory, [this](void* m) { cuda.call("cudaFree", m); });
    const auto buffer = Buffer::adopt(memory, 4000, default_stream(), owner);
    const DeviceNDArray<float> array({{1000}, {4}}, buffer->data(), buffer);
    array(all) = 2.f * array + 1.f;
    EXPECT_EQ(sum(array).item(), 2.f * 500500.f + 1000.f);
  }
  synchronize();
}

TEST_F(CudaRuntime, ItsCopiesInAStreamOfOursAreInOrder) {
  const Stream s = stream();
  const StreamGuard guard(s);
  const auto values = counted(1 << 20);
  const DeviceNDArray<float> a = to_device(values);
  DeviceNDArray<float> b = a * 3.f;  // its kernel is loaded before the gate closes
  s.synchronize();
  std::vector<float> got(values.size());
  void* pinned = nullptr;
  cuda.call("cudaMallocHost", &pinned, got.size() * sizeof(float));
  {
    test::Gate gate(s);
    b(all) = a * 3.f;
    cuda.call("cudaMemcpyAsync", pinned, static_cast<const void*>(b.device_pointer()),
              got.size() * sizeof(float), to_host_kind, reinterpret_cast<void*>(s.handle()));
    b(all) = a * 0.f;
  }
  s.synchronize();
  std::memcpy(got.data(), pinned, got.size() * sizeof(float));
  cuda.call("cudaFreeHost", pinned);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 3.f * values[i]) << i;
}

TEST_F(CudaRuntime, ItsStreamIsAStream) {
  void* handle = nullptr;
  cuda.call("cudaStreamCreateWithFlags", &handle, 1u);  // not blocking
  {
    const Stream s = external_stream(reinterpret_cast<std::uintptr_t>(handle));
    const StreamGuard guard(s);
    const DeviceNDArray<float> a = to_device(counted(5000));
    const DeviceNDArray<float> b = a + 1.f;
    cuda.call("cudaStreamSynchronize", handle);
    EXPECT_EQ(s.is_done(), true);
    EXPECT_EQ(b.copy_to_host()(4999), 5001.f);
  }
  synchronize();
  cuda.call("cudaStreamDestroy", handle);
}

/// The modes of a capture in which other threads may do what they want, or this one too.
class CudaGraph : public CudaRuntime, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(ThreadLocalAndRelaxed, CudaGraph, testing::Values(1, 2));

TEST_P(CudaGraph, HasTheMemoryOfOurWorkAtEveryLaunch) {
  constexpr std::size_t n = 100000;
  const Stream s = stream({.non_blocking = true});
  const StreamGuard guard(s);
  auto* const handle = reinterpret_cast<void*>(s.handle());
  const auto work = [&](const DeviceNDArray<float>& out, const DeviceNDArray<float>& a) {
    const auto b = full<float>({n}, 2.f);
    const DeviceNDArray<float> c = a + b;
    out(all) = c + sum(c.copy());
  };
  const DeviceNDArray<float> a = to_device(counted(n)), out = zeros<float>({n});
  work(out, a);  // its kernels are loaded before the capture
  trim_pool(s.device());
  s.synchronize();
  GraphMemory memory(s);
  void *graph = nullptr, *ready = nullptr;
  cuda.call("cudaStreamBeginCapture", handle, GetParam());
  work(out, a);
  cuda.call("cudaStreamEndCapture", handle, &graph);
  memory.end();
  ASSERT_NE(graph, nullptr);
  cuda.call("cudaGraphInstantiateWithFlags", &ready, graph, 0ull);
  for (const float start : {1.f, 2.f, 3.f}) {
    std::vector<DeviceNDArray<float>> others;
    for (int k = 0; k < 8; ++k) others.push_back(full<float>({n}, -1e9f));
    std::vector<float> values(n, start);
    a.copy_to_device(values);
    cuda.call("cudaGraphLaunch", ready, handle);
    const auto got = out.copy_to_host();
    const float want = start + 2.f + static_cast<float>(n) * (start + 2.f);  // exact
    for (std::size_t i = 0; i < n; ++i) ASSERT_FLOAT_EQ(got[i], want) << i;
  }
  cuda.call("cudaGraphExecDestroy", ready);
  cuda.call("cudaGraphDestroy", graph);
}

/// A thread that has only used the runtime can use Quarry, and the other way round.
TEST_F(CudaRuntime, ThreadsMayBeginWithEither) {
  std::thread([&] {
    int device = -1;
    cuda.call("cudaSetDevice", 0);
    const DeviceNDArray<float> a = ones<float>({100});
    EXPECT_EQ(sum(a + a).item(), 200.f);
    cuda.call("cudaGetDevice", &device);
    EXPECT_EQ(device, 0);
  }).join();
  std::thread([&] {
    const DeviceNDArray<float> a = ones<float>({100});
    EXPECT_EQ(sum(a + a).item(), 200.f);
    cuda.call("cudaFree", allocate(counted(10)));
    cuda.call("cudaDeviceSynchronize");
    EXPECT_EQ(sum(a).item(), 100.f);
  }).join();
}

/// Column-major products of cuBLAS, in a stream of ours, between two of our kernels.
TEST_F(CudaRuntime, BlasWorksOnArraysInTheirStream) {
  const Library blas({"libcublas.so.13", "libcublas.so.12"});
  if (!blas) GTEST_SKIP() << "no cuBLAS on this machine";
  constexpr int n = 64, no_transposition = 0;
  const Stream s = stream();
  const StreamGuard guard(s);
  const DeviceNDArray<float> x = to_device(counted(n * n)).reshape({n, n}) / 100.f;
  const DeviceNDArray<float> y = x + 1.f;
  const DeviceNDArray<float> product = zeros<float>({n, n});
  const float one = 1, zero = 0;
  void* handle = nullptr;
  blas.call("cublasCreate_v2", &handle);
  blas.call("cublasSetStream_v2", handle, reinterpret_cast<void*>(s.handle()));
  // row-major x y is column-major y^T x^T with the operands exchanged
  blas.call("cublasSgemm_v2", handle, no_transposition, no_transposition, n, n, n, &one,
            static_cast<const void*>(y.device_pointer()), n,
            static_cast<const void*>(x.device_pointer()), n, &zero,
            static_cast<void*>(product.device_pointer()), n);
  const auto got = (product - 1.f).copy_to_host();
  blas.call("cublasDestroy_v2", handle);
  const auto a = x.copy_to_host(), b = y.copy_to_host();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double exact = -1;
      for (int k = 0; k < n; ++k) exact += double(a(i, k)) * double(b(k, j));
      ASSERT_NEAR(got(i, j), exact, 1e-5 * std::abs(exact) + 1e-3) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace quarry
