// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// What is queued, and not waited for: assignments in every kind of stream.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

std::int64_t waits() {
  return shim::calls(DriverFunction::StreamSynchronize) +
         shim::calls(DriverFunction::EventSynchronize) +
         shim::calls(DriverFunction::CtxSynchronize);
}

TEST(Assignments, DoNotWaitInAnyStream) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts the calls";
  const Stream made = stream();
  const auto source = arange<float>(10);
  const std::vector<float, PinnedAllocator<float>> pinned(10, 3.f);
  for (const Stream& s : {made, default_stream(), legacy_default_stream(),
                          per_thread_default_stream(), external_stream(made.handle())}) {
    const auto a = zeros<float>({10}, {.stream = s});
    const std::vector<std::function<void()>> assignments{
        [&] { a(0) = 10.f; },
        [&] { a(range(2, 5)) = 4.f; },
        [&] { a(range(_, _, 2)) = source(range(0, 5)); },
        [&] { a(all) = source * 2.f; },
        [&] { a += 1.f; },
        [&] { a.fill(7.f); },
        [&] { a.copy_to_device(source); },
        [&] { a.copy_to_device(pinned, s); },
    };
    for (const auto& assign : assignments) assign();  // kernels are compiled and loaded
    s.synchronize();
    for (std::size_t i = 0; i < assignments.size(); ++i) {
      const auto before = waits();
      assignments[i]();
      EXPECT_EQ(waits(), before) << "assignment " << i << ", stream " << s.handle();
    }
    s.synchronize();
    EXPECT_EQ(sum(a).item(), 30);
  }
}

}  // namespace
}  // namespace quarry
