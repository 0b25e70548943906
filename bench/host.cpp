// SPDX-License-Identifier: BSD-3-Clause
// The CPU device's rows of bench/host.py, as a user's file is compiled: for any x86-64 processor.
#include <quarry/quarry.hpp>

#include <cstdlib>

#include "host_rows.hpp"

namespace {

using namespace bench;
namespace qy = quarry;
template <class T>
using Array = qy::DeviceNDArray<T>;

Rows rows;

template <class T>
T* data(const Array<T>& x) {
  return static_cast<T*>(static_cast<void*>(x.device_pointer()));
}

qy::Shape shape(const Extents& extents) { return qy::Shape(extents.begin(), extents.end()); }

template <class T>
Array<T> input(int k, const Extents& extents) {
  Array<T> x(shape(extents));
  for (std::int64_t i = 0; i < x.size(); ++i) data(x)[i] = value_at<T>(k, i);
  return x;
}

template <class T>
std::string name(const std::string& operation) {
  return "quarry " + operation + ' ' + dtype_name<T>();
}

template <class T>
double figure(const Array<T>& x) {
  qy::synchronize();
  return figure_of(data(x), x.size());
}

/// f(x, y, z) into an array of type Out that is there already.
template <class T, class Out = T, class F>
void map(const std::string& operation, F f) {
  rows[name<T>(operation)] = [f](const Extents& extents) {
    const auto x = input<T>(0, extents), y = input<T>(1, extents), z = input<T>(2, extents);
    const Array<Out> out(f(x, y, z).shape());
    return Work{[=] {
                  out.assign(f(x, y, z));
                  qy::synchronize();
                },
                [=] { return figure(out); }};
  };
}

template <class From, class To>
void conversion() {
  map<From, To>(std::string("to_") + dtype_name<To>(),
                [](const auto& x, const auto&, const auto&) { return qy::astype<To>(x); });
}

/// f(x, axes) into a new array, over all axes and over each of two.
template <class T, class F>
void reduction(const std::string& operation, F f) {
  const auto row = [&](const char* suffix, auto over) {
    rows[name<T>(operation + suffix)] = [over](const Extents& extents) {
      const auto x = input<T>(0, extents);
      return Work{[=] {
                    qy::eval(over(x));
                    qy::synchronize();
                  },
                  [=] { return figure(qy::eval(over(x))); }};
    };
  };
  row("", [f](const auto& x) { return f(x); });
  row(".0", [f](const auto& x) { return f(x, 0); });
  row(".1", [f](const auto& x) { return f(x, 1); });
}

template <class T>
void maps_of_all() {
  map<T>("add", [](const auto& x, const auto& y, const auto&) { return x + y; });
  map<T>("mul_add", [](const auto& x, const auto& y, const auto& z) { return x * y + z; });
  map<T>("add_number", [](const auto& x, const auto&, const auto&) { return x + 1; });
  map<T, bool>("less", [](const auto& x, const auto& y, const auto&) { return x < y; });
  map<T>("where",
         [](const auto& x, const auto& y, const auto& z) { return qy::where(x < y, y, z); });
  map<T>("add_row",
         [](const auto& x, const auto& y, const auto&) { return x + y(qy::range(0, 1), qy::all); });
  map<T>("add_column",
         [](const auto& x, const auto& y, const auto&) { return x + y(qy::all, qy::range(0, 1)); });
  map<T>("transpose", [](const auto& x, const auto&, const auto&) { return x.T(); });
}

template <class T>
void maps_of_floats() {
  map<T>("sqrt", [](const auto& x, const auto&, const auto&) { return qy::sqrt(x); });
  map<T>("exp", [](const auto& x, const auto&, const auto&) { return qy::exp(x); });
  map<T>("log", [](const auto& x, const auto&, const auto&) { return qy::log(x); });
  map<T>("sin", [](const auto& x, const auto&, const auto&) { return qy::sin(x); });
  map<T>("cos", [](const auto& x, const auto&, const auto&) { return qy::cos(x); });
  map<T>("tanh", [](const auto& x, const auto&, const auto&) { return qy::tanh(x); });
  map<T>("divide", [](const auto& x, const auto& y, const auto&) { return x / y; });
  map<T>("heat", [](const auto& x, const auto&, const auto&) {
    const qy::Range inner = qy::range(1, -1), before = qy::range(qy::_, -2),
                    after = qy::range(2, qy::_);
    return T(0.25) * (x(after, inner) + x(before, inner) + x(inner, after) + x(inner, before));
  });
}

template <class T>
void maps_of_integers() {
  map<T>("floor_divide_number",
         [](const auto& x, const auto&, const auto&) { return qy::floor_divide(x, 7); });
  map<T>("floor_divide",
         [](const auto& x, const auto& y, const auto&) { return qy::floor_divide(x, y); });
}

template <class T>
void reductions() {
  reduction<T>("sum", [](const auto& x, auto... axis) { return qy::sum(x, {axis...}); });
  reduction<T>("max", [](const auto& x, auto... axis) { return qy::max(x, {axis...}); });
  reduction<T>("argmax", [](const auto& x, auto... axis) { return qy::argmax(x, {axis...}); });
  reduction<T>("mean", [](const auto& x, auto... axis) { return qy::mean(x, {axis...}); });
}

template <class... T>
void rows_of_floats() {
  (maps_of_floats<T>(), ...);
  (reduction<T>("var", [](const auto& x, auto... axis) { return qy::var(x, {axis...}); }), ...);
}

}  // namespace

int main() {
  setenv("QUARRY_DEVICE", "cpu", 1);
  for_types([](auto zero) {
    maps_of_all<decltype(zero)>();
    reductions<decltype(zero)>();
  });
  rows_of_floats<float, double>();
  maps_of_integers<std::int8_t>();
  maps_of_integers<std::int32_t>();
  maps_of_integers<std::int64_t>();
  for_conversions([](auto from, auto to) { conversion<decltype(from), decltype(to)>(); });
  reduction<bool>("any", [](const auto& x, auto... axis) { return qy::any(x, {axis...}); });
  return serve(rows);
}
