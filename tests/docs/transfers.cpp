// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/transfers.md.
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "check.hpp"

#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xview.hpp>
#endif

#include <vector>

namespace qy = quarry;

namespace {

void layouts() {
  // example-begin layouts
  xt::xarray<float> h = xt::ones<float>({1000, 1000});
  auto a = qy::to_device(h);
  a.copy_to_host(h);
  a(qy::all, 0).copy_to_device(xt::view(h, 7, xt::all()));           // a row into a column
  a(qy::range(0, 10)).copy_to_host(xt::view(h, xt::range(10, 20)));  // ten rows
  auto d = qy::to_device<double>(h);                                 // converted on its way
  a.copy_to_device(d);                                               // from an array on any device
  // example-end
  CHECK(qy::sum(a).item() == 1e6f && qy::sum(d).item() == 1e6);
}

void queued() {
  // example-begin queued
  auto s = qy::stream();
  std::vector<float> in(1 << 20, 1.f), out(in.size());
  auto a = qy::to_device(in, s);
  in.clear();  // it has been read
  qy::eval(a * 2.f).copy_to_host(out, s);
  s.synchronize();  // out is complete
  // example-end
  CHECK(out.front() == 2 && out.back() == 2);
}

void pinned() {
  // example-begin pinned
  auto s = qy::stream();
  auto a = qy::pinned_array<float>({1024, 1024}, {.portable = true});  // uninitialised
  a.fill(1.f);
  auto d = qy::device_array<float>({1024, 1024}, {.stream = s});
  d.copy_to_device(a, s);  // returns at once
  // example-end
  CHECK(qy::sum(d).item() == 1024 * 1024);
}

void scope() {
  const auto s = qy::stream();
  const auto d = qy::zeros<float>({1000}, {.stream = s});
  std::vector<float> a(1000, 2.f), b(1000);
  // example-begin scope
  {
    const auto scope = qy::pinned(a, b);  // any address, any size
    d.copy_to_device(a, s);
    d.copy_to_host(b, s);
  }  // waits for s, then unlocks, also when an exception leaves
  // example-end
  CHECK(b == a);
}

}  // namespace

int main() {
  layouts();
  queued();
  pinned();
  scope();
}
