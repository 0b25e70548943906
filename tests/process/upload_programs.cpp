// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/graph.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/quarry.hpp>

#include "backend/cuda/driver/driver.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "process/child.hpp"

/// An upload that has returned, and then the first stream of the process that does not wait for the
/// default stream of the GPU that has it, its own or one of another GPU: each GPU has that once.
/// The driver returns from an upload of pageable memory when it has taken the bytes.
namespace quarry::test {
namespace {

using Values = std::vector<int>;

constexpr int wrong_values = 3;

Values ramp(int first, int count) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// All GPUs; on the fake driver many, as every one is another draw of the order.
int gpu_count() {
  if (kind() == Kind::fake) fake::set_machine({.devices = std::vector<fake::DeviceOptions>(24)});
  return static_cast<int>(gpus.size());
}

Values values_of(int draw) { return ramp(1000 * draw, 1 + 91 * draw); }

DeviceNDArray<int> zeros_like(const Values& values, const Device& gpu) {
  return full<int>({static_cast<std::int64_t>(values.size())}, 0, {.device = gpu});
}

/// By one of the calls that return before all has arrived.
void upload(const DeviceNDArray<int>& to, const Values& values) {
  values.size() % 2 == 0 ? memcpy_htod(to, values) : to.copy_to_device(values);
}

bool has(const DeviceNDArray<int>& array, const Values& values) {
  Values seen(values.size());
  array.copy_to_host(seen);
  return seen == values;
}

/// Uploads to each GPU and copies from there to `target(GPU)`, in a stream that is made then.
template <class Copy>
int run(int first, Device (*target)(const Device&), Stream (*make)(const Device&), Copy copy) {
  const int count = gpu_count();
  for (int i = first; i < count; ++i) {
    const Values values = values_of(i);
    const auto from = zeros_like(values, gpus[i]), to = zeros_like(values, target(gpus[i]));
    from.device().synchronize();
    to.device().synchronize();
    upload(from, values);
    const Stream s = make(to.device());
    copy(to, from, values.size() * sizeof(int), s);
    s.synchronize();
    if (!has(to, values)) return wrong_values;
  }
  return 0;
}

Device first_gpu(const Device&) { return gpus[0]; }
Device same_gpu(const Device& gpu) { return gpu; }

Stream ordered(const Device& gpu) { return stream({.device = gpu}); }
Stream independent(const Device& gpu) { return stream({.non_blocking = true, .device = gpu}); }

/// That of arrays that are made in captured work.
Stream of_a_capture(const Device& gpu) {
  const DeviceGuard guard(gpu);
  std::optional<DeviceNDArray<int>> made;
  const Graph graph = capture([&] { made = zeros<int>({1}); });
  return made->stream();
}

/// Another library at work in the GPU's primary context, as the CUDA runtime is, which it keeps.
template <class F>
void elsewhere(const Device& gpu, F f) {
  const auto& cu = backend::cuda::driver();
  CUcontext before = nullptr, primary = nullptr;
  cu.CtxGetCurrent(&before);
  cu.DevicePrimaryCtxRetain(&primary, gpu.id());
  cu.CtxSetCurrent(primary);
  if (f(cu) != CUDA_SUCCESS) std::abort();
  cu.CtxSetCurrent(before);
}
Stream of_another_library(const Device& gpu) {
  CUstream made = nullptr;
  elsewhere(gpu, [&](const auto& cu) {
    return cu.StreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0);
  });
  const DeviceGuard guard(gpu);
  return external_stream(reinterpret_cast<std::uintptr_t>(made));
}

int first_peer_copies() {
  return run(1, first_gpu, ordered,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               memcpy_peer_async(to, from, bytes, s);
             });
}
int first_peer_copies_of_boxes() {
  return run(1, first_gpu, ordered,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               Memcpy3DPeer copy;
               if (bytes % 8 == 0) {
                 copy.set_src_device(from);
               } else {
                 copy.set_src_device(DevicePtr(from.device_pointer()));
                 copy.set_src_context(from.device());
               }
               copy.set_dst_device(to);
               copy.width_in_bytes = bytes;
               copy.height = copy.depth = 1;
               copy(s);
             });
}
int first_waiting_peer_copies() {
  return run(1, first_gpu, ordered,
             [](const auto& to, const auto& from, auto bytes, const Stream&) {
               memcpy_peer(to, from, bytes);
             });
}
int first_peer_copies_by_address() {
  return run(1, first_gpu, ordered,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               memcpy_peer_async(DevicePtr(to.device_pointer()), DevicePtr(from.device_pointer()),
                                 bytes, s, from.device());
             });
}
int first_copies_across() {
  return run(1, first_gpu, ordered,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               memcpy_dtod_async(to, from, bytes, s);
             });
}
int first_independent_streams() {
  return run(0, same_gpu, independent,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               memcpy_dtod_async(to, from, bytes, s);
             });
}
int first_streams_of_captures() {
  return run(0, same_gpu, of_a_capture,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               memcpy_dtod_async(to, from, bytes, s);
             });
}
/// That library's calls and Quarry's, in turn.
int first_streams_of_another_library() {
  return run(0, same_gpu, of_another_library,
             [](const auto& to, const auto& from, auto bytes, const Stream& s) {
               const auto address = [](const auto& array) {
                 return reinterpret_cast<CUdeviceptr>(array.device_pointer());
               };
               auto bound = to.bind(s);
               bound.fill(-1);
               elsewhere(to.device(), [&](const auto& cu) {
                 return cu.MemcpyDtoDAsync(address(to), address(from), bytes,
                                           reinterpret_cast<CUstream>(s.handle()));
               });
               bound += 1;
               bound -= 1;
             });
}

}  // namespace

std::vector<Program> upload_programs() {
  return {{"FirstPeerCopies", first_peer_copies},
          {"FirstPeerCopiesOfBoxes", first_peer_copies_of_boxes},
          {"FirstWaitingPeerCopies", first_waiting_peer_copies},
          {"FirstPeerCopiesByAddress", first_peer_copies_by_address},
          {"FirstCopiesAcross", first_copies_across},
          {"FirstIndependentStreams", first_independent_streams},
          {"FirstStreamsOfCaptures", first_streams_of_captures},
          {"FirstStreamsOfAnotherLibrary", first_streams_of_another_library}};
}

}  // namespace quarry::test
