// SPDX-License-Identifier: BSD-3-Clause
// The rows of bench/host.py in xtensor and Eigen, compiled for this processor.
#include <Eigen/Core>

#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/misc/xsort.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include "host_rows.hpp"

namespace {

using namespace bench;

Rows rows;

/// Both libraries' arrays of one or two axes, in C order.
template <class T>
using Tensor = xt::xtensor<T, 2>;
template <class T>
using Matrix = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class A>
using element = std::decay_t<decltype(*std::declval<A&>().data())>;

std::int64_t row_count(const Extents& extents) { return extents.size() == 1 ? 1 : extents[0]; }

template <class A>
A input(int k, const Extents& extents) {
  A x;
  const auto resize = [&](auto size) {
    x.resize({size(row_count(extents)), size(extents.back())});
  };
  if constexpr (std::is_same_v<A, Tensor<element<A>>>)
    resize([](std::int64_t n) { return static_cast<std::size_t>(n); });
  else
    x.resize(row_count(extents), extents.back());
  for (std::int64_t i = 0; i < count(extents); ++i) x.data()[i] = value_at<element<A>>(k, i);
  return x;
}

template <class A>
struct Inputs {
  A x, y, z;
};
template <class A>
std::shared_ptr<const Inputs<A>> inputs(const Extents& extents) {
  return std::make_shared<const Inputs<A>>(
      Inputs<A>{input<A>(0, extents), input<A>(1, extents), input<A>(2, extents)});
}

/// into(out, inputs) computes all of `out`, which has the type of what make(inputs) returns.
template <class A, class Make, class Into>
void row(const char* who, const std::string& operation, Make make, Into into) {
  const std::string name = std::string(who) + ' ' + operation + ' ' + dtype_name<element<A>>();
  rows[name] = [=](const Extents& extents) {
    const auto in = inputs<A>(extents);
    const auto out = std::make_shared<decltype(make(*in))>(make(*in));
    return Work{[=] { into(*out, *in); },
                [=] { return figure_of(out->data(), static_cast<std::int64_t>(out->size())); }};
  };
}

/// f(inputs) as an expression, into an array that is there already.
template <class T, class Out = T, class F>
void xtensor(const std::string& operation, F f) {
  row<Tensor<T>>(
      "xtensor", operation, [f](const auto& in) { return xt::xtensor<Out, 2>(f(in)); },
      [f](auto& out, const auto& in) { xt::noalias(out) = f(in); });
}
template <class T, class Out = T, class F>
void eigen(const std::string& operation, F f) {
  row<Matrix<T>>(
      "eigen", operation, [f](const auto& in) { return Matrix<Out>(f(in)); },
      [f](auto& out, const auto& in) { out = f(in); });
}

template <class T>
void maps_of_all() {
  xtensor<T>("add", [](const auto& i) { return i.x + i.y; });
  xtensor<T>("mul_add", [](const auto& i) { return i.x * i.y + i.z; });
  xtensor<T>("add_number", [](const auto& i) { return i.x + T(1); });
  xtensor<T, bool>("less", [](const auto& i) { return i.x < i.y; });
  xtensor<T>("where", [](const auto& i) { return xt::where(i.x < i.y, i.y, i.z); });
  xtensor<T>("add_row",
             [](const auto& i) { return i.x + xt::view(i.y, xt::range(0, 1), xt::all()); });
  xtensor<T>("add_column",
             [](const auto& i) { return i.x + xt::view(i.y, xt::all(), xt::range(0, 1)); });
  xtensor<T>("transpose", [](const auto& i) { return xt::transpose(i.x); });
  eigen<T>("add", [](const auto& i) { return i.x + i.y; });
  eigen<T>("mul_add", [](const auto& i) { return i.x * i.y + i.z; });
  eigen<T>("add_number", [](const auto& i) { return i.x + T(1); });
  eigen<T, bool>("less", [](const auto& i) { return i.x < i.y; });
  eigen<T>("where", [](const auto& i) { return (i.x < i.y).select(i.y, i.z); });
  eigen<T>("add_row", [](const auto& i) { return i.x.rowwise() + i.y.row(0); });
  eigen<T>("add_column", [](const auto& i) { return i.x.colwise() + i.y.col(0); });
  eigen<T>("transpose", [](const auto& i) { return i.x.transpose(); });
}

template <class T>
void maps_of_floats() {
#define FUNCTION(f)                                         \
  xtensor<T>(#f, [](const auto& i) { return xt::f(i.x); }); \
  eigen<T>(#f, [](const auto& i) { return i.x.f(); });
  FUNCTION(sqrt)
  FUNCTION(exp)
  FUNCTION(log)
  FUNCTION(sin)
  FUNCTION(cos)
  FUNCTION(tanh)
#undef FUNCTION
  xtensor<T>("divide", [](const auto& i) { return i.x / i.y; });
  eigen<T>("divide", [](const auto& i) { return i.x / i.y; });
  xtensor<T>("heat", [](const auto& i) {
    const std::size_t h = i.x.shape(0), w = i.x.shape(1);
    const auto part = [&](std::size_t down, std::size_t across) {
      return xt::view(i.x, xt::range(down, h - 2 + down), xt::range(across, w - 2 + across));
    };
    return T(0.25) * (part(2, 1) + part(0, 1) + part(1, 2) + part(1, 0));
  });
  eigen<T>("heat", [](const auto& i) {
    const auto h = i.x.rows() - 2, w = i.x.cols() - 2;
    return T(0.25) * (i.x.block(2, 1, h, w) + i.x.block(0, 1, h, w) + i.x.block(1, 2, h, w) +
                      i.x.block(1, 0, h, w));
  });
}

template <class From, class To>
void conversion() {
  const std::string name = std::string("to_") + dtype_name<To>();
  xtensor<From, To>(name, [](const auto& i) { return xt::cast<To>(i.x); });
  eigen<From, To>(name, [](const auto& i) { return i.x.template cast<To>(); });
}

/// A reduction over all axes and over each of two: f(x, axes...) of xtensor, g(x) of Eigen, which
/// may be rowwise or columnwise; for types whose results are those of NumPy.
template <class T, class Out = T, class F, class G>
void reduction(const std::string& operation, F f, G g) {
  const auto xtensor_row = [&](const char* suffix, auto over) {
    const auto make = [over](const auto& in) { return xt::xarray<Out>(over(in.x)); };
    row<Tensor<T>>("xtensor", operation + suffix, make,
                   [=](auto& out, const auto& in) { out = make(in); });
  };
  const auto eigen_row = [&](const char* suffix, auto over) {
    const auto make = [over](const auto& in) { return Matrix<Out>(over(in.x)); };
    row<Matrix<T>>("eigen", operation + suffix, make,
                   [=](auto& out, const auto& in) { out = make(in); });
  };
  xtensor_row("", [f](const auto& x) { return f(x); });
  xtensor_row(".0", [f](const auto& x) { return f(x, 0); });
  xtensor_row(".1", [f](const auto& x) { return f(x, 1); });
  eigen_row("", [g](const auto& x) { return Matrix<Out>::Constant(1, 1, g(x)); });
  eigen_row(".0", [g](const auto& x) { return g(x.colwise()); });
  eigen_row(".1", [g](const auto& x) { return g(x.rowwise()); });
}

template <class T>
void reductions() {
  // xtensor's number of an axis is unsigned
  const auto axes = [](auto... axis) { return std::array{static_cast<std::size_t>(axis)...}; };
  const auto over = [axes](auto f) {
    return [=](const auto& x, auto... axis) {
      if constexpr (sizeof...(axis) == 0)
        return f(x);
      else
        return f(x, axes(axis...));
    };
  };
  reduction<T>("max", over([](const auto& x, auto... a) { return xt::amax(x, a...); }),
               [](const auto& x) { return x.maxCoeff(); });
  if constexpr (std::is_floating_point_v<T>) {
    reduction<T>("sum", over([](const auto& x, auto... a) { return xt::sum(x, a...); }),
                 [](const auto& x) { return x.sum(); });
    reduction<T>("mean", over([](const auto& x, auto... a) { return xt::mean(x, a...); }),
                 [](const auto& x) { return x.mean(); });
  }
}

}  // namespace

int main() {
  for_types([](auto zero) {
    maps_of_all<decltype(zero)>();
    reductions<decltype(zero)>();
  });
  maps_of_floats<float>();
  maps_of_floats<double>();
  for_conversions([](auto from, auto to) { conversion<decltype(from), decltype(to)>(); });
  return serve(rows);
}
