// SPDX-License-Identifier: BSD-3-Clause
// What the machine's own calls reach, through the CUDA driver alone: the limits that the other rows
// are compared with. Without a GPU there are no rows.
#include <array>
#include <random>
#include <string>
#include <string_view>

#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "run.hpp"

namespace {

using namespace bench;
using namespace quarry::backend::cuda;

constexpr std::size_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "an unknown error";
  driver().GetErrorName(result, &name);
  throw std::runtime_error(name);
}
void must(const NvrtcUse& nvrtc, nvrtcResult result) {
  if (result != NVRTC_SUCCESS) throw std::runtime_error(nvrtc->GetErrorString(result));
}

/// The first GPU's primary context, current for the thread.
CUdevice open_device() {
  static const CUdevice opened = [] {
    CUdevice device = 0;
    CUcontext context = nullptr;
    must(driver().DeviceGet(&device, 0));
    must(driver().DevicePrimaryCtxRetain(&context, device));
    must(driver().CtxSetCurrent(context));
    return device;
  }();
  return opened;
}

class DeviceBlock {
 public:
  explicit DeviceBlock(std::size_t bytes) {
    open_device();
    must(driver().MemAlloc(&address_, bytes));
  }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  ~DeviceBlock() { driver().MemFree(address_); }
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

class PinnedBlock {
 public:
  explicit PinnedBlock(std::size_t bytes) {
    open_device();
    must(driver().MemHostAlloc(&data_, bytes, 0));
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock() { driver().MemFreeHost(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

void scramble(void* data, std::size_t bytes) {
  auto* const words = static_cast<std::uint32_t*>(data);
  std::minstd_rand random(1);
  for (std::size_t i = 0; i < bytes / 4; ++i) words[i] = static_cast<std::uint32_t>(random());
}

/// Seconds between two events of the default stream around `work`.
template <class F>
void between_events(Run& run, F work) {
  std::array<CUevent, 2> events{};
  for (CUevent& event : events) must(driver().EventCreate(&event, CU_EVENT_DEFAULT));
  run.sample([&] {
    must(driver().EventRecord(events[0], nullptr));
    work();
    must(driver().EventRecord(events[1], nullptr));
    must(driver().EventSynchronize(events[1]));
    float milliseconds = 0;
    must(driver().EventElapsedTime(&milliseconds, events[0], events[1]));
    return 1e-3 * static_cast<double>(milliseconds);
  });
  for (CUevent event : events) driver().EventDestroy(event);
}

// --- the link
// --------------------------------------------------------------------------------------

template <class Host>
void copies(Run& run, std::size_t bytes, bool up, Host host) {
  const DeviceBlock device(bytes);
  scramble(host, bytes);
  must(driver().MemcpyHtoD(device.address(), host, bytes));
  run.bytes = static_cast<double>(bytes);
  run.call([&] {
    must(up ? driver().MemcpyHtoD(device.address(), host, bytes)
            : driver().MemcpyDtoH(host, device.address(), bytes));
  });
}
void pinned(Run& run, std::size_t bytes, bool up) {
  const PinnedBlock host(bytes);
  copies(run, bytes, up, host.data());
}
void pageable(Run& run, std::size_t bytes, bool up) {
  std::vector<char> host(bytes);
  copies(run, bytes, up, static_cast<void*>(host.data()));
}

// --- kernels
// ---------------------------------------------------------------------------------------

constexpr const char* source = R"(
extern "C" __global__ void nothing() {}
extern "C" __global__ void add(const float4* a, const float4* b, float4* c) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
)";

/// By NVRTC, to machine code.
std::string compiled(const std::string& text) {
  int major = 0, minor = 0;
  must(driver().DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                   open_device()));
  must(driver().DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                   open_device()));
  const std::string target =
      "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const char* const options[] = {target.c_str()};
  nvrtcProgram program = nullptr;
  const NvrtcUse nvrtc;
  must(nvrtc, nvrtc->CreateProgram(&program, text.c_str(), "limits.cu", 0, nullptr, nullptr));
  must(nvrtc, nvrtc->CompileProgram(program, 1, options));
  std::size_t bytes = 0;
  must(nvrtc, nvrtc->GetCUBINSize(program, &bytes));
  std::string code(bytes, '\0');
  must(nvrtc, nvrtc->GetCUBIN(program, code.data()));
  nvrtc->DestroyProgram(&program);
  return code;
}

CUfunction kernel(const char* name) {
  static const CUmodule module = [] {
    const std::string code = compiled(source);
    CUmodule loaded = nullptr;
    must(driver().ModuleLoadDataEx(&loaded, code.data(), 0, nullptr, nullptr));
    return loaded;
  }();
  CUfunction function = nullptr;
  must(driver().ModuleGetFunction(&function, module, name));
  return function;
}

void launch(CUfunction function, std::size_t blocks, unsigned threads, void** arguments) {
  must(driver().LaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0,
                             nullptr, arguments, nullptr));
}

/// What NVRTC takes for a kernel that does nothing, another one every time.
void empty_compilation(Run& run) {
  const CUfunction loaded = kernel("nothing");  // with it NVRTC
  benchmark::DoNotOptimize(loaded);
  int number = 0;
  run.call([&] {
    compiled("extern \"C\" __global__ void nothing_" + std::to_string(number++) + "() {}");
  });
}
void empty_launch(Run& run) {
  const CUfunction nothing = kernel("nothing");
  run.issue([&] { launch(nothing, 1, 32, nullptr); }, [] { must(driver().CtxSynchronize()); });
}
void empty_launch_and_wait(Run& run) {
  const CUfunction nothing = kernel("nothing");
  run.call([&] {
    launch(nothing, 1, 32, nullptr);
    must(driver().CtxSynchronize());
  });
}

constexpr std::size_t array_bytes = gib;

/// A block of random numbers below one, so that no sum is special.
void fill_randomly(const DeviceBlock& block) {
  std::vector<float> host(64 * mib / sizeof(float));
  std::minstd_rand random(2);
  for (float& x : host) x = static_cast<float>(random()) * 0x1p-31f;
  for (std::size_t at = 0; at < array_bytes; at += 64 * mib)
    must(driver().MemcpyHtoD(block.address() + at, host.data(), 64 * mib));
}

void device_add(Run& run) {
  const DeviceBlock a(array_bytes), b(array_bytes), c(array_bytes);
  fill_randomly(a);
  fill_randomly(b);
  CUdeviceptr addresses[] = {a.address(), b.address(), c.address()};
  void* arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
  const CUfunction add = kernel("add");
  run.bytes = 3. * array_bytes;
  between_events(run, [&] { launch(add, array_bytes / 16 / 256, 256, arguments); });
  std::array<float, 2> x{}, sum{};
  must(driver().MemcpyDtoH(x.data(), a.address() + array_bytes - 8, 8));
  must(driver().MemcpyDtoH(sum.data(), c.address() + array_bytes - 8, 8));
  expect_near(sum[1], 2 * x[1], 1e-7, "the last sum");
}
void device_copy(Run& run) {
  const DeviceBlock a(array_bytes), b(array_bytes);
  fill_randomly(a);
  run.bytes = 2. * array_bytes;
  between_events(
      run, [&] { must(driver().MemcpyDtoDAsync(b.address(), a.address(), array_bytes, nullptr)); });
}
/// What heat moves at least: 200 plates of 4096 x 4096 read, and as many written.
void plate_copies(Run& run) {
  constexpr std::size_t plate = 64 * mib;
  constexpr std::size_t steps = 200;
  const std::array<DeviceBlock, 2> plates{DeviceBlock(plate), DeviceBlock(plate)};
  must(driver().MemsetD32Async(plates[0].address(), 0x3f800000, plate / 4, nullptr));
  run.bytes = 2. * steps * plate;
  between_events(run, [&] {
    for (std::size_t i = 0; i < steps; ++i) {
      must(driver().MemcpyDtoDAsync(plates[(i + 1) % 2].address(), plates[i % 2].address(), plate,
                                    nullptr));
    }
  });
}
void device_set(Run& run) {
  const DeviceBlock a(array_bytes);
  run.bytes = array_bytes;
  between_events(run, [&] {
    must(driver().MemsetD32Async(a.address(), 0x3f800000, array_bytes / 4, nullptr));
  });
}

void link_rows(const std::string& size, std::size_t bytes) {
  row("limit/pinned_h2d_" + size, [=](Run& run) { pinned(run, bytes, true); });
  row("limit/pinned_d2h_" + size, [=](Run& run) { pinned(run, bytes, false); });
  row("limit/pageable_h2d_" + size, [=](Run& run) { pageable(run, bytes, true); });
  row("limit/pageable_d2h_" + size, [=](Run& run) { pageable(run, bytes, false); });
}

void register_rows() {
  row("limit/compilation", empty_compilation);
  row("limit/launch", empty_launch);
  row("limit/launch_and_wait", empty_launch_and_wait);
  row("limit/device_add", device_add);
  row("limit/device_copy", device_copy);
  row("limit/device_set", device_set);
  row("limit/plate_copies", plate_copies);
  link_rows("4KiB", 4 * kib);
  link_rows("1MiB", mib);
  link_rows("64MiB", 64 * mib);
  link_rows("1GiB", gib);
}

/// Names the GPU in the report's context; false where there is none.
bool find_gpu() {
  const LoadedDriver loaded = load_driver();
  int count = 0;
  if (!loaded.table || driver().Init(0) != CUDA_SUCCESS ||
      driver().DeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    return false;
  char name[128] = {};
  int version = 0;
  must(driver().DeviceGetName(name, sizeof name - 1, open_device()));
  must(driver().DriverGetVersion(&version));
  benchmark::AddCustomContext("gpu", name);
  benchmark::AddCustomContext("cuda_driver_version", std::to_string(version / 1000) + "." +
                                                         std::to_string(version % 1000 / 10));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (!find_gpu()) return std::puts("limits: no GPU, nothing to measure"), 0;
  register_rows();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
