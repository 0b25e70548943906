// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/coming-from-xtensor.md.
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <cmath>
#include <iostream>

#include "check.hpp"

namespace qy = quarry;

// clang-format off
// example-begin black_scholes
QUARRY_FUNCTION(cdf, (auto x), 0.5f * (1.f + tanh(0.79788456f * (x + 0.044715f * x * x * x))));
// example-end
// clang-format on

namespace {

void both_ways() {
  // example-begin both_ways
  const xt::xarray<float> h = {{1, 2, 3}, {4, 5, 6}};
  auto a = qy::to_device(h);                // a copy on the device, of the same layout
  auto b = qy::to_device(h * 2.f);          // an xtensor expression: evaluated on the host first
  xt::xarray<float> c = a.copy_to_host();   // a copy on the host
  a(qy::all, 0) = xt::xarray<float>{7, 8};  // into a part of what is there
  // example-end
  CHECK(c == h && b(1, 2).item() == 12 && a(1, 0).item() == 8);
}

void sharing() {
  // example-begin sharing
  auto a = qy::zeros<float>({2, 3});
  auto b = a;         // xt::xarray would copy; here both names have the same elements
  b += 1.f;           // so a is 1 now
  auto c = a.copy();  // elements of its own
  c += 1.f;           // a stays 1
  // example-end
  CHECK(qy::all_of(a == 1.f).item() && qy::all_of(c == 2.f).item());
}

void constness() {
  // example-begin constness
  const auto a = qy::zeros<float>({2, 3});
  a(0) = 1.f;                               // the name is const, the elements are not
  qy::DeviceNDArray<const float> view = a;  // a(0) = ... through this one does not compile
  // example-end
  CHECK(view(0, 0).item() == 1);
}

void rows() {
  // example-begin rows
  auto a = qy::arange<float>(6).reshape({2, 3});
  auto row = a(0);    // xt::view(a, 0): the same elements
  row = a(1) * 2.f;   // the name `row` goes to a new array; a is as it was
  a(0) = a(1) * 2.f;  // this writes: what a(...) gives is written through
  auto other = a(1);
  other(qy::ellipsis) = 0.f;  // as does this, through a name
  // example-end
  CHECK(row(0).item() == 6 &&
        qy::array_equal(a, qy::to_device({6.f, 8.f, 10.f, 0.f, 0.f, 0.f}).reshape({2, 3})));
}

void laziness() {
  // example-begin laziness
  auto x = qy::linspace(0.f, 1.f, 1000);
  auto e = qy::exp(x) * x;               // nothing has run; e holds x, so x may go out of scope
  qy::DeviceNDArray<float> y = e;        // one kernel
  auto z = qy::eval(e);                  // the same, as xt::eval
  float largest = e.max().item();        // one kernel again, nothing is stored
  std::cout << e(qy::range(3)) << '\n';  // only three elements are computed
  // example-end
  CHECK(qy::array_equal(y, z) && largest == std::exp(1.f));
}

void stale() {
  // example-begin stale
  auto a = qy::ones<float>(4);
  auto twice = a * 2.f;
  auto kept = qy::eval(a * 2.f);
  qy::eval(twice);  // 2
  a.fill(5.f);
  // eval(twice) is 10 now; with QUARRY_CHECK=1 it throws instead
  // example-end
  CHECK(qy::all_of(kept == 2.f).item());
}

void comparisons() {
  const auto a = qy::ones<float>(3), b = qy::ones<float>(3);
  // example-begin comparisons
  if (qy::array_equal(a, b)) std::cout << "the same\n";            // xtensor's a == b
  if (qy::allclose(a, b, {.rtol = 1e-3})) std::cout << "close\n";  // waits for the answer, too
  auto where = qy::eval(a == b);                                   // xt::equal(a, b): an array
  // example-end
  CHECK(where.all().item());
}

void errors() {
  // example-begin errors
  const auto a = qy::zeros<float>({2, 3});
  try {
    a(5, 0) = 1.f;
  } catch (const qy::IndexError& error) {
    std::cout << error.what() << '\n';  // index 5 is outside axis 0 of extent 2
  }
  // example-end
  CHECK(a.sum().item() == 0);
}

void black_scholes() {
  const auto spot = qy::full<float>({4}, 100.f), strike = qy::full<float>({4}, 100.f);
  // example-begin call
  auto d = qy::log(spot / strike) / 0.2f + 0.1f;
  auto call = qy::eval(spot * cdf(d) - strike * cdf(d - 0.2f));  // one kernel, compiled fast
  // example-end
  CHECK(qy::allclose(call, 7.966f, {.rtol = 1e-2}));
}

}  // namespace

int main() {
  both_ways();
  sharing();
  constness();
  rows();
  laziness();
  stale();
  comparisons();
  errors();
  black_scholes();
}
