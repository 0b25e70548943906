// SPDX-License-Identifier: BSD-3-Clause
// Programs of many small kernels, as they are written with NumPy: pressure in a closed box, waves
// in a plane and flow in a cavity (small assignments to slices), the attraction of all pairs of
// bodies, and two results of the same inputs.
#include <quarry/memory/graph.hpp>

#include <cstdint>
#include <functional>
#include <tuple>

#include "device.hpp"

namespace {

using namespace bench;
using Field = Array<float>;
using Host = std::vector<double>;

constexpr std::int64_t side_of_field = 128;
constexpr int iterations = 100;
const qy::Range inner = qy::range(1, -1), before = qy::range(qy::_, -2),
                after = qy::range(2, qy::_), first = qy::range(qy::_, -1),
                last = qy::range(1, qy::_);

Field field(std::uint64_t k) {
  return random_array<float>(k, side_of_field * side_of_field)
      .reshape({side_of_field, side_of_field});
}

/// The same numbers on the host.
struct Plane {
  explicit Plane(std::uint64_t k) : value(static_cast<std::size_t>(n * n)) {
    for (std::size_t i = 0; i < value.size(); ++i)
      value[i] = uniform(k, static_cast<std::int64_t>(i));
  }
  double& operator()(std::int64_t i, std::int64_t j) {
    return value[static_cast<std::size_t>(i * n + j)];
  }
  static constexpr std::int64_t n = side_of_field;
  Host value;
};

void check_plane(const Field& got, const Plane& want) {
  check(
      got, [&](std::int64_t i) { return want.value[static_cast<std::size_t>(i)]; }, 1e-4);
}

// --- pressure in a box: six assignments per iteration
// -------------------------------------------------

void relax(const Field& p, const Field& b, int count) {
  for (int i = 0; i < count; ++i) {
    const Field q = p.copy();
    p(inner, inner) = 0.25f * (q(inner, after) + q(inner, before) + q(after, inner) +
                               q(before, inner) - b(inner, inner));
    p(qy::all, -1) = p(qy::all, -2);
    p(0) = p(1);
    p(qy::all, 0) = p(qy::all, 1);
    p(-1) = 0.f;
  }
}

Plane relaxed(int count) {
  Plane p(0), b(1);
  constexpr std::int64_t n = Plane::n;
  for (int t = 0; t < count; ++t) {
    Plane q = p;
    for (std::int64_t i = 1; i < n - 1; ++i)
      for (std::int64_t j = 1; j < n - 1; ++j)
        p(i, j) = 0.25 * (q(i, j + 1) + q(i, j - 1) + q(i + 1, j) + q(i - 1, j) - b(i, j));
    for (std::int64_t i = 0; i < n; ++i) p(i, n - 1) = p(i, n - 2);
    for (std::int64_t j = 0; j < n; ++j) p(0, j) = p(1, j);
    for (std::int64_t i = 0; i < n; ++i) p(i, 0) = p(i, 1);
    for (std::int64_t j = 0; j < n; ++j) p(n - 1, j) = 0;
  }
  return p;
}

/// The work as it is written, or captured once as a graph.
enum class Form { plain, captured };

void measure(Run& run, Form form, const std::function<void()>& work) {
  if (form == Form::plain) return on_device(run, work);
  on_device(run, qy::capture(work));
}

void pressure(Run& run, Form form) {
  const Field p = field(0), b = field(1);
  relax(p, b, 5);
  check_plane(p, relaxed(5));
  run.size = times(side_of_field, side_of_field) + " x " + std::to_string(iterations);
  measure(run, form, [&] { relax(p, b, iterations); });
}

// --- waves in a plane: four assignments per step
// ------------------------------------------------------

struct Waves {
  Field ex = field(0), ey = field(1), hz = field(2);
};

void propagate(const Waves& w, int count) {
  for (int t = 0; t < count; ++t) {
    w.ey(0) = static_cast<float>(t);
    w.ey(last) -= 0.5f * (w.hz(last) - w.hz(first));
    w.ex(qy::all, last) -= 0.5f * (w.hz(qy::all, last) - w.hz(qy::all, first));
    w.hz(first, first) -=
        0.7f * (w.ex(first, last) - w.ex(first, first) + w.ey(last, first) - w.ey(first, first));
  }
}

Plane propagated(int count) {
  Plane ex(0), ey(1), hz(2);
  constexpr std::int64_t n = Plane::n;
  for (int t = 0; t < count; ++t) {
    for (std::int64_t j = 0; j < n; ++j) ey(0, j) = t;
    for (std::int64_t i = 1; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) ey(i, j) -= 0.5 * (hz(i, j) - hz(i - 1, j));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 1; j < n; ++j) ex(i, j) -= 0.5 * (hz(i, j) - hz(i, j - 1));
    for (std::int64_t i = 0; i + 1 < n; ++i)
      for (std::int64_t j = 0; j + 1 < n; ++j)
        hz(i, j) -= 0.7 * (ex(i, j + 1) - ex(i, j) + ey(i + 1, j) - ey(i, j));
  }
  return hz;
}

void waves(Run& run, Form form) {
  const Waves w;
  propagate(w, 5);
  check_plane(w.hz, propagated(5));
  run.size = times(side_of_field, side_of_field) + " x " + std::to_string(iterations);
  measure(run, form, [&] { propagate(w, iterations); });
}

// --- flow in a cavity: 314 assignments and copies per step
// ------------------------------------------------

constexpr int cavity_steps = 10, pressure_steps = 50;
constexpr float dt = 0.0001f, viscosity = 0.1f, spacing = 2.f / (side_of_field - 1);

struct Cavity {
  Field u = qy::zeros<float>({side_of_field, side_of_field}), v = u.copy(), p = u.copy(),
        b = u.copy();
};

auto east(const Field& w) { return w(inner, after); }
auto west(const Field& w) { return w(inner, before); }
auto north(const Field& w) { return w(after, inner); }
auto south(const Field& w) { return w(before, inner); }

void move(const Field& w, const Field& un, const Field& vn, const auto& gradient) {
  const Field wn = w.copy();
  const auto centre = wn(inner, inner);
  const auto drift =
      un(inner, inner) * (centre - west(wn)) + vn(inner, inner) * (centre - south(wn));
  const auto around = east(wn) + west(wn) + north(wn) + south(wn) - 4.f * centre;
  w(inner, inner) = centre - dt / spacing * (drift + gradient / 2.f) +
                    viscosity * dt / (spacing * spacing) * around;
  w(0) = w(qy::all, 0) = w(qy::all, -1) = w(-1) = 0.f;
}

void flow(const Cavity& c, int count) {
  for (int t = 0; t < count; ++t) {
    const auto ux = east(c.u) - west(c.u), uy = north(c.u) - south(c.u);
    const auto vx = east(c.v) - west(c.v), vy = north(c.v) - south(c.v);
    c.b(inner, inner) =
        0.25f * spacing * ((ux + vy) / (2.f * dt)) - 0.0625f * (ux * ux + 2.f * uy * vx + vy * vy);
    for (int i = 0; i < pressure_steps; ++i) {
      const Field q = c.p.copy();
      c.p(inner, inner) = 0.25f * (east(q) + west(q) + north(q) + south(q)) - c.b(inner, inner);
      c.p(qy::all, -1) = c.p(qy::all, -2);
      c.p(0) = c.p(1);
      c.p(qy::all, 0) = c.p(qy::all, 1);
      c.p(-1) = 0.f;
    }
    const Field un = c.u.copy(), vn = c.v.copy();
    move(c.u, un, vn, east(c.p) - west(c.p));
    move(c.v, un, vn, north(c.p) - south(c.p));
    c.u(-1) = 1.f;
  }
}

/// The same numbers on the host.
struct HostCavity {
  static constexpr std::int64_t n = Plane::n;
  Plane u, v, p, b;

  HostCavity() : u(0), v(0), p(0), b(0) {
    for (Plane* plane : {&u, &v, &p, &b}) std::fill(plane->value.begin(), plane->value.end(), 0.);
  }
  template <class F>
  static void inside(F f) {
    for (std::int64_t i = 1; i < n - 1; ++i)
      for (std::int64_t j = 1; j < n - 1; ++j) f(i, j);
  }
  void project() {
    inside([&](auto i, auto j) {
      const double ux = u(i, j + 1) - u(i, j - 1), uy = u(i + 1, j) - u(i - 1, j);
      const double vx = v(i, j + 1) - v(i, j - 1), vy = v(i + 1, j) - v(i - 1, j);
      b(i, j) =
          0.25 * spacing * ((ux + vy) / (2. * dt)) - 0.0625 * (ux * ux + 2 * uy * vx + vy * vy);
    });
    for (int k = 0; k < pressure_steps; ++k) {
      Plane q = p;
      inside([&](auto i, auto j) {
        p(i, j) = 0.25 * (q(i, j + 1) + q(i, j - 1) + q(i + 1, j) + q(i - 1, j)) - b(i, j);
      });
      for (std::int64_t i = 0; i < n; ++i) p(i, n - 1) = p(i, n - 2);
      for (std::int64_t j = 0; j < n; ++j) p(0, j) = p(1, j);
      for (std::int64_t i = 0; i < n; ++i) p(i, 0) = p(i, 1);
      for (std::int64_t j = 0; j < n; ++j) p(n - 1, j) = 0;
    }
  }
  static void move(Plane& w, Plane& un, Plane& vn, auto gradient) {
    Plane wn = w;
    inside([&](auto i, auto j) {
      const double drift =
          un(i, j) * (wn(i, j) - wn(i, j - 1)) + vn(i, j) * (wn(i, j) - wn(i - 1, j));
      const double around =
          wn(i, j + 1) + wn(i, j - 1) + wn(i + 1, j) + wn(i - 1, j) - 4 * wn(i, j);
      w(i, j) = wn(i, j) - double{dt} / spacing * (drift + gradient(i, j) / 2) +
                double{viscosity} * dt / (double{spacing} * spacing) * around;
    });
    for (std::int64_t i = 0; i < n; ++i) w(0, i) = w(i, 0) = w(i, n - 1) = w(n - 1, i) = 0;
  }
  void step() {
    project();
    Plane un = u, vn = v;
    move(u, un, vn, [&](auto i, auto j) { return p(i, j + 1) - p(i, j - 1); });
    move(v, un, vn, [&](auto i, auto j) { return p(i + 1, j) - p(i - 1, j); });
    for (std::int64_t j = 0; j < n; ++j) u(n - 1, j) = 1;
  }
};

void cavity(Run& run, Form form) {
  const Cavity c;
  flow(c, 3);
  HostCavity host;
  for (int t = 0; t < 3; ++t) host.step();
  check_plane(c.u, host.u);
  check_plane(c.v, host.v);
  run.size = times(side_of_field, side_of_field) + " x " + std::to_string(cavity_steps);
  measure(run, form, [&] { flow(c, cavity_steps); });
}

// --- all pairs of bodies
// ------------------------------------------------------------------------------

constexpr float softening = 0.01f;

Field attraction(const Field& x, const Field& m) {
  const auto d = x(qy::newaxis) - x(qy::all, qy::newaxis);
  const Field r2 = qy::sum(d * d, 2);
  const Field w = m / ((r2 + softening) * qy::sqrt(r2 + softening));
  return qy::sum(d * w(qy::all, qy::all, qy::newaxis), 1);
}

void bodies(Run& run, std::int64_t n) {
  const Field x = random_array<float>(0, 3 * n).reshape({n, 3}), m = random_array<float>(1, n);
  Field a = attraction(x, m);
  const auto expected = [n](std::int64_t at) {
    const std::int64_t i = at / 3;
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double r2 = softening;
      for (std::int64_t k = 0; k < 3; ++k) {
        const double d = uniform(0, 3 * j + k) - uniform(0, 3 * i + k);
        r2 += d * d;
      }
      sum += (uniform(0, 3 * j + at % 3) - uniform(0, at)) * uniform(1, j) / (r2 * std::sqrt(r2));
    }
    return sum;
  };
  check_part(a.ravel(), 0, 3 * n, n / 5, expected, 1e-3);
  run.size = std::to_string(n) + " bodies";
  on_device(run, [&] { a = attraction(x, m); });
}

// --- two results
// --------------------------------------------------------------------------------------

constexpr float rate = 0.02f, volatility = 0.3f;

/// The normal distribution function, by the polynomial of Abramowitz and Stegun.
auto normal(const auto& d) {
  const auto k = 1.f / (1.f + 0.2316419f * qy::abs(d));
  const auto tail =
      0.39894228f * qy::exp(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return qy::where(d > 0.f, 1.f - tail, tail);
}

/// Prices of calls and of puts (Black and Scholes), with what is used twice in arrays.
auto prices(const Field& s, const Field& x, const Field& t) {
  const auto spread = volatility * qy::sqrt(t);
  const Field d = (qy::log(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
  const Field call = normal(d), put = normal(d - spread);
  const auto discounted = x * qy::exp(-rate * t);
  return qy::eval(s * call - discounted * put, discounted * (1.f - put) - s * (1.f - call));
}

/// The same as two kernels: the second expression has most of its parts several times.
auto prices_at_once(const Field& s, const Field& x, const Field& t) {
  const auto spread = volatility * qy::sqrt(t);
  const Field d = (qy::log(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
  const auto call = normal(d);
  const auto put = normal(d - spread);
  const auto discounted = x * qy::exp(-rate * t);
  return qy::eval(s * call - discounted * put, discounted * (1.f - put) - s * (1.f - call));
}

double price_of(std::int64_t i, bool is_call) {
  const double s = 5 + uniform(0, i), x = 4 + uniform(1, i), t = 1 + uniform(2, i);
  const double spread = volatility * std::sqrt(t);
  const double d1 = (std::log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread;
  const auto below = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.)); };
  const double discounted = x * std::exp(-rate * t);
  const double call = s * below(d1) - discounted * below(d1 - spread);
  return is_call ? call : call - s + discounted;
}

void options(Run& run, auto form) {
  const std::int64_t n = std::min<std::int64_t>(large(), 1 << 22);
  const Field s = 5.f + random_array<float>(0, n), x = 4.f + random_array<float>(1, n),
              t = 1.f + random_array<float>(2, n);
  auto result = form(s, x, t);
  check(
      std::get<0>(result), [](std::int64_t i) { return price_of(i, true); }, 1e-4);
  check(
      std::get<1>(result), [](std::int64_t i) { return price_of(i, false); }, 1e-4);
  run.bytes = 4. * 5 * static_cast<double>(n);
  run.size = std::to_string(n);
  on_device(run, [&] { result = form(s, x, t); });
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/pressure", [](Run& run) { pressure(run, Form::plain); }),
    row("quarry/pressure_captured", [](Run& run) { pressure(run, Form::captured); }),
    row("quarry/waves", [](Run& run) { waves(run, Form::plain); }),
    row("quarry/waves_captured", [](Run& run) { waves(run, Form::captured); }),
    row("quarry/cavity", [](Run& run) { cavity(run, Form::plain); }),
    row("quarry/cavity_captured", [](Run& run) { cavity(run, Form::captured); }),
    row("quarry/bodies", [](Run& run) { bodies(run, 4096); }),
    row("quarry/options", [](Run& run) { options(run, prices); }),
    row("quarry/options_at_once", [](Run& run) { options(run, prices_at_once); }),
};

}  // namespace
