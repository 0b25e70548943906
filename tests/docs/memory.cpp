// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/memory.md and docs/numerics.md.
#include <quarry/memory/graph_memory.hpp>
#include <quarry/quarry.hpp>

#include "check.hpp"

#include <array>
#include <functional>
#include <numeric>
#include <vector>

namespace qy = quarry;

namespace {

void order() {
  // example-begin order
  auto s = qy::stream(), t = qy::stream();
  auto a = qy::zeros<float>({1000}, {.stream = s});  // queued in s
  qy::Event filled = s.record();
  t.wait_event(filled);  // t waits for the zeros
  {
    const qy::StreamGuard guard(t);
    a += 1.f;  // queued in t
  }
  t.synchronize();
  // example-end
  CHECK(qy::sum(a).item() == 1000);
}

void resources() {
  // example-begin resources
  qy::Pool pool(qy::managed_resource());
  {
    const qy::ResourceGuard guard(pool);  // this thread, this scope, this device
    auto a = qy::zeros<float>({1000});    // in managed memory
  }
  qy::set_current_resource(qy::driver_pool_resource());  // all threads, from now on
  qy::reset_current_resource();                          // the pool again
  // example-end
  CHECK(pool.statistics().peak_active_bytes >= 4000);
  CHECK(qy::current_resource() == qy::current_resource(qy::get_current_device()));
}

// in place of cuda.h
using CUstream = struct CUstream_st*;
using CUgraph = struct CUgraph_st*;
constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
void cuStreamBeginCapture(CUstream, int) {}
void cuStreamEndCapture(CUstream, CUgraph*) {}

void graphs(const qy::DeviceNDArray<float>& a, const qy::DeviceNDArray<float>& b) {
  const qy::Stream s = qy::stream();
  CUgraph graph = nullptr;
  qy::DeviceNDArray<float> c, out = qy::zeros_like(a);
  // example-begin graphs
  qy::GraphMemory memory(s);  // before the capture begins
  cuStreamBeginCapture(reinterpret_cast<CUstream>(s.handle()), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  {
    const qy::StreamGuard guard(s);
    c = a + b;
    out(qy::all) = c / qy::sum(c);
  }
  cuStreamEndCapture(reinterpret_cast<CUstream>(s.handle()), &graph);
  memory.end();
  // a, b, c may be dropped; keep `memory` as long as the graph is launched
  // example-end
}

void pressure() {
  // example-begin pressure
  struct Cache {
    std::vector<qy::DeviceNDArray<float>> arrays;

    bool operator()(std::size_t /*bytes*/, int attempt) {
      arrays.clear();
      return attempt == 1;  // is it worth another try? 8 at most
    }
  } cache;
  qy::Pool pool(qy::device_resource(), {.limit = 64 << 20});
  auto registration = pool.on_pressure(std::ref(cache));
  // example-end
  const qy::ResourceGuard guard(pool);
  cache.arrays.push_back(qy::zeros<float>({12 << 20}));
  const auto a = qy::ones<float>({12 << 20});
  CHECK(cache.arrays.empty() && qy::sum(a).item() == 12 << 20);
}

void mapped() {
  // example-begin mapped
  auto s = qy::stream();
  auto m = qy::mapped_array<int>({100}, {.stream = s});  // page-locked host memory
  std::iota(m.begin(), m.end(), 0);                      // the host writes
  m += 1;                                                // a kernel, over the link
  s.synchronize();                  // access of the host does not wait by itself
  int last = m.at(-1);              // checked: IndexError
  auto half = m(qy::range(0, 50));  // a view for both, too
  // example-end
  CHECK(last == 100 && half.size() == 50 && half.host_pointer() == m.host_pointer());
}

void managed() {
  // example-begin managed
  auto g = qy::managed_zeros<float>({1000, 1000});
  g.prefetch(g.device());  // the pages go to the GPU, in the order of the stream
  g.advise(qy::Advice::set_accessed_by, qy::Device::cpu());
  g += 1.f;
  g.prefetch(qy::Device::cpu());
  g.stream().synchronize();
  float corner = g.at(0, 0);
  // example-end
  CHECK(corner == 1);
}

void adopt() {
  // example-begin adopt
  auto owner = std::make_shared<std::array<float, 6>>();
  auto home = qy::default_stream(qy::Device::cpu());
  auto buffer = qy::Buffer::adopt(owner->data(), sizeof *owner, home, owner);
  qy::DeviceNDArray<float> a({{2, 3}, {12, 4}}, buffer->data(), buffer);  // byte strides
  a(qy::all) = 1.f;
  // example-end
  CHECK((*owner)[5] == 1);
}

// The CPU device has no memory that another process can open: each of these throws there.

void export_array() {
  // example-begin export
  auto a = qy::zeros<float>({1000, 1000});
  qy::synchronize();  // its contents are there
  std::vector<std::byte> bytes = qy::get_ipc_handle(a(qy::range(10, 20))).to_bytes();
  // send the bytes through a pipe, a socket, a file
  // example-end
}

void open_array(const std::vector<std::byte>& bytes) {
  // example-begin open
  auto handle = qy::IpcArrayHandle::from_bytes(bytes);
  qy::DeviceNDArray<float> rows = handle.open<float>();  // shape (10, 1000), the same memory
  rows.fill(1.f);
  handle.close();  // rows keeps the memory until it goes
  // example-end
}

void export_event(const qy::DeviceNDArray<float>& a) {
  // example-begin export_event
  qy::Event ready({.timing = false, .interprocess = true});
  qy::IpcBytes bytes = ready.ipc_handle();  // 64 bytes for the other process
  a.fill(3.f);
  ready.record(a.stream());  // then tell the other process that it is recorded
  // example-end
  CHECK(bytes.size() == 64);
}

void open_event(const qy::IpcBytes& bytes) {
  // example-begin open_event
  qy::Event there = qy::Event::from_ipc_handle(bytes);
  there.wait(qy::current_stream());  // on the GPU: the host goes on
  // example-end
}

template <class E, class F>
bool throws(const F& f) {
  try {
    f();
  } catch (const E&) {
    return true;
  }
  return false;
}

void processes() {
  const qy::DeviceGuard on_cpu(qy::Device::cpu());
  CHECK(throws<qy::LogicError>(export_array));
  CHECK(throws<qy::FormatError>([] { open_array({}); }));
  CHECK(throws<qy::LogicError>([] { export_event(qy::zeros<float>({10})); }));
  CHECK(throws<qy::LogicError>([] { open_event({}); }));
}

void scalars() {
  const auto bytes = qy::ones<std::uint8_t>({2});
  bool thrown = false;
  // example-begin range
  try {
    auto too_large = bytes + 300;
  } catch (const qy::DTypeError& e) {  // "300 does not fit in uint8"
    thrown = true;
  }
  qy::DeviceNDArray<std::int64_t> wide = bytes.astype<std::int64_t>() + 300;
  // example-end
  CHECK(thrown && wide(0).item() == 301);
}

}  // namespace

int main() {
  order();
  resources();
  if (!qy::get_current_device().is_cpu()) graphs(qy::ones<float>({10}), qy::ones<float>({10}));
  pressure();
  mapped();
  managed();
  adopt();
  processes();
  scalars();
}
