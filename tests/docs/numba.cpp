// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/coming-from-numba.md.
#include <quarry/array/mapped.hpp>
#include <quarry/memory/allocation.hpp>
#include <quarry/pinned.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "check.hpp"

namespace qy = quarry;

// example-begin ufunc
// @vectorize(["float32(float32, float32)"], target="cuda")
QUARRY_FUNCTION(relative_difference, (auto x, auto y), 2 * (x - y) / (x + y));
// example-end

int main() {
  const xt::xarray<float> host = {3, 1, 1};
  // example-begin streams
  auto s = qy::stream();
  auto d = qy::to_device(host, s);  // cuda.to_device(host, stream=s)
  {
    auto until_done = s.auto_synchronize();  // with s.auto_synchronize():
    d += 1.f;                                // goes to s: d is bound to it
    qy::Event half = s.record();
    d *= 2.f;
  }
  xt::xarray<float> result = d.copy_to_host();
  // example-end
  CHECK(result(0) == 8 && result(2) == 4);

  // example-begin scope
  {
    const qy::StreamGuard guard(s);  // what is given no stream goes to s
    auto e = qy::zeros<float>({3});
    e(qy::all) = relative_difference(d, e + 2.f);
    s.synchronize();
  }
  // example-end

  // example-begin devices
  qy::Device device = qy::get_current_device();  // the CPU, where there is no GPU
  auto there = qy::zeros<float>({8}, {.device = qy::Device::cpu()});
  double sum = qy::with_device(qy::Device::cpu(), [] {  // with cuda.gpus[i]:
    return qy::sum(qy::arange<double>(5)).item();
  });
  // example-end
  CHECK(!device.name().empty() && there.device().is_cpu() && sum == 10);

  // example-begin contexts
  auto total = qy::require_context([] {  // @require_context
    return qy::sum(qy::full<double>({4}, 2.0)).item();
  });
  qy::Context context = qy::current_context();
  context.push();
  double of_twos = total();
  context.pop();  // LogicError unless it is on top of the thread's stack
  // example-end
  CHECK(of_twos == 8);

  // example-begin timing
  qy::Event begin, end;
  begin.record(s);
  d += 1.f;
  end.record(s);
  end.synchronize();
  float milliseconds = qy::event_elapsed_time(begin, end);
  // example-end
  CHECK(milliseconds >= 0);

  // example-begin memory
  auto page_locked = qy::pinned_array<float>({1000});  // cuda.pinned_array(1000, np.float32)
  auto both = qy::mapped_array<float>({1000});         // for kernels and the host
  std::vector<float> mine(1000, 1.f);
  {
    auto locked = qy::pinned(mine);       // with cuda.pinned(mine):
    auto deferred = qy::defer_cleanup();  // with cuda.defer_cleanup():
    auto copy = qy::to_device(mine);
    both(qy::all) = copy + 1.f;
  }
  qy::synchronize();
  // example-end
  CHECK(page_locked.size() == 1000 && both.at(999) == 2);
}
