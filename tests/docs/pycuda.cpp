// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/coming-from-pycuda.md.
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/pooled.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "check.hpp"

namespace qy = quarry;

// clang-format off
// example-begin elementwise
// ElementwiseKernel("float a, float *x, float b, float *y, float *z", "z[i] = a*x[i] + b*y[i]")
QUARRY_FUNCTION(linear_combination, (auto a, auto x, auto b, auto y), a * x + b * y);
// example-end
// clang-format on

int main() {
  const xt::xarray<float> host = {1, 2, 3, 4};
  // example-begin arrays
  auto x = qy::to_device(host);                     // gpuarray.to_gpu(host)
  auto y = qy::zeros_like(x);                       // gpuarray.zeros_like(x)
  auto z = qy::device_array_like(x);                // gpuarray.empty_like(x)
  z(qy::all) = linear_combination(5.f, x, 6.f, y);  // kernel(5, x, 6, y, z)
  float dot = qy::sum(x * z).item();                // ReductionKernel(..., "a+b", "x[i]*z[i]")
  auto positive = qy::where(x > 2.f, x, y);         // gpuarray.if_positive(x - 2, x, y)
  std::vector<float> back(4);
  z.copy_to_host(back);  // z.get(back)
  // example-end
  CHECK(dot == 150 && back[3] == 20 && qy::sum(positive).item() == 7);

  // example-begin contexts
  qy::Device device = qy::get_current_device();  // also qy::Device(0), qy::Device("0000:3b:00.0")
  std::int64_t processors = device.attribute(qy::DeviceAttribute::multiprocessor_count);
  qy::Context context = device.make_context(qy::ContextFlags::sched_blocking_sync);
  if (!device.is_cpu()) context.set_limit(qy::ContextLimit::malloc_heap_size, 64 << 20);
  auto a = qy::arange<float>(100);  // and the rest of the program
  context.pop();
  context.detach();
  float of_all = qy::sum(a).item();  // a is still there
  // example-end
  CHECK(processors > 0 && of_all == 4950);

  // example-begin raw
  auto memory = qy::mem_alloc(16);     // drv.mem_alloc(16)
  qy::memcpy_htod(memory, host);       // any array or range of the host
  qy::memcpy_dtod(memory, z, 8);       // arrays are memory too
  qy::memcpy_dtoh(back, memory);       // back = {z[0], z[1], host[2], host[3]}
  qy::memcpy_dtod(memory + 4, z, 12);  // 4 bytes further on
  // example-end
  CHECK(back[0] == 5 && back[2] == 3);

  // example-begin block
  auto [block, pitch] = qy::mem_alloc_pitch(6, 2, 4);  // two rows of 6 bytes
  std::vector<std::uint8_t> image{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  qy::Memcpy2D copy;
  copy.set_src_host(image);
  copy.set_dst_device(block);
  copy.src_pitch = copy.width_in_bytes = 6;
  copy.dst_pitch = pitch;
  copy.height = 2;
  copy();
  // example-end
  std::vector<std::uint8_t> row(6);
  qy::memcpy_dtoh(row, block + static_cast<std::ptrdiff_t>(pitch));
  CHECK(row[0] == 7 && row[5] == 12);

  // example-begin array
  qy::CudaArray plane(
      {.width = 3, .height = 2, .dtype = qy::dtype_of<std::uint8_t>, .num_channels = 2});
  qy::Memcpy2D into;
  into.set_src_device(block);
  into.set_dst_array(plane);
  into.src_pitch = pitch;
  into.width_in_bytes = 6;  // the elements have 2 bytes
  into.height = 2;
  into();
  // example-end
  std::vector<std::uint8_t> stored(12);
  qy::Memcpy2D out_of;
  out_of.set_src_array(plane);
  out_of.set_dst_host(stored);
  out_of.width_in_bytes = 6;
  out_of.height = 2;
  out_of();
  CHECK(stored == image);

  // example-begin pool
  qy::DeviceMemoryPool pool;
  auto allocation = pool.allocate(1000);
  allocation.free();  // pool.held_blocks() == 1
  {
    qy::ResourceGuard guard(pool);     // gpuarray.empty(..., allocator=pool.allocate)
    auto a = qy::zeros<float>({250});  // the block of 1000 bytes
  }
  qy::PageLockedMemoryPool host_pool;
  auto pinned = host_pool.allocate<float>({3, 4}, qy::Order::f);  // an xtensor array
  // example-end
  CHECK(pool.held_blocks() == 1 && host_pool.active_blocks() == 1 && pinned.size() == 12);

  // example-begin own_pool
  x = y = z = {};  // the arrays' memory goes to the pool
  qy::PoolStatistics statistics = qy::pool_statistics(qy::Device());
  qy::trim_pool(qy::Device());
  // example-end
  CHECK(statistics.held_bytes > 0);
}
