// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/coming-from-numpy.md.
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "check.hpp"

namespace qy = quarry;

// clang-format off
// example-begin function
QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a * x + y);
// example-end
// example-begin statements
QUARRY_FUNCTION(smooth, (auto x), auto t = clip(x, 0.f, 1.f); return t * t * (3 - 2 * t););
// example-end
// clang-format on
// example-begin particle
struct Particle {
  double mass;
  float pos[3];
  int id;
};
QUARRY_RECORD(Particle, mass, pos, id);
// example-end

namespace {

void records() {
  // example-begin records
  auto p = qy::zeros<Particle>({100});
  auto mass = p.field<&Particle::mass>();             // p["mass"], a strided view
  mass += 1.0;                                        // written through
  p.field<"pos">()(qy::all, 2) = 9.f;                 // by name: p["pos"][:, 2] = 9
  double total = qy::sum(mass).item();                // read where they lie, nothing is copied
  auto record = p.record(1);                          // DeviceRecord<Particle>: p[1]
  record.set<&Particle::id>(7);                       // p[1]["id"] = 7
  Particle second = p(1).item();                      // a whole record on the host
  qy::DeviceNDArray<double> again = p.field("mass");  // a name known at run time only: checked
  std::string type = qy::descr(p.dtype());            // p.dtype.descr
  // example-end
  CHECK(total == 100 && second.id == 7 && second.pos[2] == 9 && again.shape() == qy::Shape{100});
  CHECK(type == "[('mass', '<f8'), ('pos', '<f4', (3,)), ('id', '<i4')]");
}

void views() {
  // example-begin views
  using qy::all, qy::range, qy::_, qy::newaxis, qy::ellipsis;
  auto a = qy::arange<float>(12).reshape({3, 4});
  auto row = a(0);                         // a[0]
  auto inner = a(range(1, -1), all);       // a[1:-1, :]
  auto odd = a(ellipsis, range(1, _, 2));  // a[..., 1::2]
  auto back = a(all, range(_, _, -1));     // a[:, ::-1]
  auto column = a(all, 2, newaxis);        // a[:, 2, None]
  float corner = a(-1, -1).item();         // a[-1, -1], which copies one element to the host
  // example-end
  CHECK(row.shape() == qy::Shape{4} && inner.shape() == qy::Shape{1, 4});
  CHECK(odd.shape() == qy::Shape{3, 2} && back(0, 0).item() == 3);
  CHECK(column.shape() == qy::Shape{3, 1} && corner == 11);
}

void indexing() {
  using qy::all, qy::range;
  auto a = qy::arange<float>(12).reshape({3, 4});
  // example-begin indexing
  auto i = qy::to_device({2, 0, 2});
  auto rows = qy::eval(a(i) * 2.f);           // a[i] * 2
  auto picked = qy::eval(a(i, range(1, 3)));  // a[i, 1:3]
  a(i, 1) = -1.f;                             // a[i, 1] = -1
  a(i) += 1.f;  // a[i] += 1: every row changes once, however often it is named
  a(all, std::vector<int>{0, -1}) = 0.f;  // a[:, [0, -1]] = 0
  // example-end
  CHECK(rows.shape() == qy::Shape{3, 4} && rows(0, 1).item() == 18);
  CHECK(picked(2, 1).item() == 10 && a(0, 1).item() == 0 && a(2, 2).item() == 11);
  CHECK(a(1, 1).item() == 5 && qy::sum(a(all, 3)).item() == 0);
}

void assignment() {
  const auto x = qy::ones<float>({3, 4}), y = qy::ones<float>({3, 4});
  // example-begin assignment
  auto a = qy::zeros<float>({3, 4});
  auto b = a;               // the same memory, as in Python
  b += 1.f;                 // in place: a is 1 now, too
  b(0) = 5.f;               // so is this, through a view of the first row
  b(qy::ellipsis) = x + y;  // all elements
  b = x * y;                // the name b goes to a new array; a stays 2
  auto c = a.copy();        // memory of its own
  // example-end
  CHECK(qy::all_of(a == 2.f).item() && qy::all_of(b == 1.f).item());
  CHECK(c.device_pointer() != a.device_pointer());
}

void laziness() {
  // example-begin laziness
  auto x = qy::linspace(0.f, 1.f, 1000);
  auto e = qy::exp(-x * x);                        // an expression: nothing has run
  float area = qy::mean(e).item();                 // computed here, in the reduction's kernel
  qy::DeviceNDArray<float> curve = e;              // computed here again, and stored
  auto stored = qy::eval(qy::sqrt(curve));         // the same without naming the type
  auto [s, c] = qy::eval(qy::sin(x), qy::cos(x));  // both in one kernel, which reads x once
  // example-end
  CHECK(area > 0.74f && area < 0.75f && curve(0).item() == 1.f && stored.size() == 1000);
  CHECK(s(0).item() == 0.f && c(0).item() == 1.f);
}

void types() {
  const auto f = qy::ones<float>({2});
  const auto i = qy::ones<std::int32_t>({2});
  // example-begin types
  auto narrow = qy::eval(f * 2.0);      // float32: a plain number takes the array's type
  auto mixed = qy::eval(i + 0.5f);      // float64, as int32 + a Python float
  auto ratio = qy::eval(i / 2);         // float64: / divides truly
  auto whole = qy::floor_divide(i, 2);  // int32
  auto bytes = i.astype<std::uint8_t>();
  // example-end
  CHECK(narrow.dtype() == qy::TypeId::float32 && mixed.dtype() == qy::TypeId::float64);
  CHECK(ratio.dtype() == qy::TypeId::float64 && whole.dtype() == qy::TypeId::int32);
  CHECK(bytes(0).item() == 1);
}

void reductions() {
  const auto a = qy::arange<double>(24).reshape({2, 3, 4});
  // example-begin reductions
  auto total = qy::sum(a);                         // np.sum(a)
  auto rows = qy::sum(a, -1);                      // axis=-1
  auto planes = qy::max(a, {0, 2});                // axis=(0, 2)
  auto kept = qy::mean(a, 1, {.keepdims = true});  // keepdims=True
  bool positive = qy::all_of(a >= 0).item();       // np.all: `all` is the index of an axis here
  std::int64_t where = qy::argmax(a).item();
  // example-end
  CHECK(total.item() == 276 && rows.shape() == qy::Shape{2, 3} && planes.shape() == qy::Shape{3});
  CHECK(kept.shape() == qy::Shape{2, 1, 4} && positive && where == 23);
}

void functions() {
  const auto x = qy::ones<float>({4}), y = qy::zeros<float>({4});
  // example-begin call
  auto z = qy::eval(saxpy(2.f, x, y) + 1.f);  // one kernel
  // example-end
  CHECK(z(0).item() == 3.f);
  CHECK(qy::eval(smooth(x * 0.5f))(0).item() == 0.5f);
}

void host() {
  // example-begin host
  const xt::xarray<double> h = {{1, 2}, {3, 4}};
  auto d = qy::to_device(h);                    // np.array -> device
  xt::xarray<double> again = d.copy_to_host();  // and back
  std::vector<double> flat(4);
  d.transpose().copy_to_host(flat);  // into a vector, in C order
  // example-end
  CHECK(again(1, 0) == 3 && flat[1] == 3);
}

}  // namespace

int main() {
  records();
  views();
  indexing();
  assignment();
  laziness();
  types();
  reductions();
  functions();
  host();
}
