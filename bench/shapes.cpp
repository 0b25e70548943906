// SPDX-License-Identifier: BSD-3-Clause
// Times the cases that bench/drawn.py has drawn: a user's program that knows ranks, axes and
// layouts at run time only. Usage: bench_shapes CASES, or bench_shapes --machine
//
// For every case a line "ID ok SECONDS" or "ID error REASON". Each result is compared once, at some
// of its elements, with plain loops. --machine names the device and, on the CPU, the speed of a
// copy in bytes read and written per second.
#include <Eigen/Core>
#include <type_traits>

#include "device.hpp"
#include "shape_case.hpp"

namespace {

using namespace bench;
using Eigen::half;

/// As an element of T holds it: integers wrap.
template <class T>
double held(double x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(x)));
  else
    return static_cast<double>(static_cast<T>(x));
}

/// The memory of all cases of one element type, one after another.
template <class T>
class Inputs {
 public:
  explicit Inputs(std::int64_t elements)
      : memory_(array_of<T>(elements, [](std::int64_t i) { return value<T>(i); })) {}

  /// One for each time that a case's work is repeated.
  std::vector<Array<T>> views(const Case& c) const {
    std::vector<Array<T>> result;
    for (std::int64_t r = 0; r < c.inputs; ++r) {
      const Array<T> dense = part(r * c.span, c.memory);
      result.push_back(dense(qy::ellipsis, qy::range(qy::_, qy::_, c.step)).transpose(c.order));
    }
    return result;
  }
  std::vector<Array<T>> second_operands(const Case& c) const {
    std::vector<Array<T>> result;
    for (std::int64_t r = 0; r < c.inputs; ++r)
      result.push_back(part(r * c.span + c.second_at, c.second));
    return result;
  }

 private:
  Array<T> part(std::int64_t at, const Extents& shape) const {
    return memory_(qy::range(at, at + product(shape))).reshape(shape);
  }
  Array<T> memory_;
};

/// Seconds of work(r), repeated for all inputs of the case, so that none is in a cache from before.
template <class F>
double seconds_of(const Case& c, F work) {
  const auto all = [&] {
    for (std::size_t r = 0; r < static_cast<std::size_t>(c.inputs); ++r) work(r);
  };
  const auto once = [&] {
    occupy_device();
    return time_on_device(all);
  };
  return median(take_samples(once, {.warm_up = 1})) / static_cast<double>(c.inputs);
}

// --- reductions
// -------------------------------------------------------------------------------------

/// What is reduced to one output: its elements, as the memory holds them.
template <class T>
class Terms {
 public:
  Terms(std::int64_t first, const ElementAxes& axes) : first_(first), axes_(&axes) {}
  std::int64_t size() const { return axes_->size(); }
  T operator[](std::int64_t i) const { return value<T>(first_ + axes_->offset(i)); }
  double number(std::int64_t i) const { return static_cast<double>((*this)[i]); }

 private:
  std::int64_t first_;
  const ElementAxes* axes_;
};

template <class T>
double expected_sum(const Terms<T>& terms) {
  return sum_of(terms.size(), [&](std::int64_t i) { return terms.number(i); });
}
template <class T>
double expected_variance(const Terms<T>& terms) {
  const auto count = static_cast<double>(terms.size());
  const double mean = expected_sum(terms) / count;
  const auto square = [&](std::int64_t i) {
    return (terms.number(i) - mean) * (terms.number(i) - mean);
  };
  return sum_of(terms.size(), square) / count;
}
/// The first position of the largest.
template <class T>
double expected_argmax(const Terms<T>& terms) {
  std::int64_t best[64] = {};
  const auto of_part = [&](std::size_t part, std::int64_t begin, std::int64_t end) {
    best[part] = begin;
    for (std::int64_t i = begin; i < end; ++i)
      if (terms[i] > terms[best[part]]) best[part] = i;
  };
  const std::size_t parts = in_parts(terms.size(), of_part);
  std::int64_t first = best[0];
  for (std::size_t p = 1; p < parts; ++p)
    if (terms[best[p]] > terms[first]) first = best[p];
  return static_cast<double>(first);
}

/// Compares some outputs, the last one always, with `expected` of their terms.
template <class T, class Out, class F>
void check_outputs(const Case& c, const Array<Out>& out, F expected, double tolerance) {
  const ElementAxes kept = chosen_axes(c, false), reduced = chosen_axes(c, true);
  const Array<Out> flat = out.ravel();
  const std::int64_t most = std::clamp<std::int64_t>((1 << 24) / reduced.size(), 1, 16);
  const std::int64_t count = kept.size(), step = (count + most - 1) / most;
  for (std::int64_t j = count - 1; j >= 0; j -= step) {
    const double got = static_cast<double>(flat(qy::range(j, j + 1)).item());
    const double want = held<Out>(expected(Terms<T>(kept.offset(j), reduced)));
    if (got != want) expect_near(got, want, tolerance, "output " + std::to_string(j));
  }
}

template <class T, class Reduce, class F>
double reduction(const Inputs<T>& inputs, const Case& c, Reduce reduce, F expected,
                 double tolerance) {
  const auto views = inputs.views(c);
  const qy::ReduceAxes axes(c.axes);
  auto out = reduce(views[0], axes);
  check_outputs<T>(c, out, expected, tolerance);
  return seconds_of(c, [&](std::size_t r) { out = reduce(views[r], axes); });
}

// --- copies and maps
// --------------------------------------------------------------------------------

/// Work that writes into an array of the view's shape, compared with expected(i) at the i-th
/// element.
template <class T, class Work, class F>
double into_array(const Case& c, const qy::Shape& shape, Work work, F expected) {
  const Array<T> out = qy::full<T>(shape, static_cast<T>(99));
  work(out, 0);
  check(out, expected, 0);
  return seconds_of(c, [&](std::size_t r) { work(out, r); });
}

template <class T>
double copy(const Inputs<T>& inputs, const Case& c) {
  const auto views = inputs.views(c);
  const ElementAxes axes = axes_of_view(c);
  return into_array<T>(
      c, views[0].shape(),
      [&](const Array<T>& out, std::size_t r) { out(qy::ellipsis) = views[r]; },
      [&](std::int64_t i) { return value<T>(axes.offset(i)); });
}

template <class T>
double add(const Inputs<T>& inputs, const Case& c) {
  const auto views = inputs.views(c), others = inputs.second_operands(c);
  const ElementAxes axes = axes_of_view(c), second = axes_of_second(c);
  const auto expected = [&](std::int64_t i) {
    const T x = value<T>(axes.offset(i)), y = value<T>(c.second_at + second.offset(i));
    return held<T>(static_cast<double>(x) + static_cast<double>(y));
  };
  return into_array<T>(
      c, views[0].shape(),
      [&](const Array<T>& out, std::size_t r) { out.assign(others[r] + views[r]); }, expected);
}

template <class T>
double twice(const Inputs<T>& inputs, const Case& c) {
  const auto views = inputs.views(c);
  const ElementAxes axes = axes_of_view(c);
  return into_array<T>(
      c, views[0].shape(),
      [&](const Array<T>& out, std::size_t r) { out.assign(views[r] * static_cast<T>(2)); },
      [&](std::int64_t i) { return held<T>(2 * static_cast<double>(value<T>(axes.offset(i)))); });
}

// --- the program
// ------------------------------------------------------------------------------------

template <class T>
double seconds_of_case(const Inputs<T>& inputs, const Case& c) {
  const auto sum = [](const auto& x, const auto& axes) { return qy::sum(x, axes); };
  const auto argmax = [](const auto& x, const auto& axes) { return qy::argmax(x, axes); };
  const auto var = [](const auto& x, const auto& axes) { return qy::var(x, axes); };
  // the last digits of large sums in float depend on the order
  constexpr double of_sums = std::is_same_v<T, float> ? 1e-6 : 0;
  if (c.operation == "sum") return reduction(inputs, c, sum, expected_sum<T>, of_sums);
  if (c.operation == "argmax") return reduction(inputs, c, argmax, expected_argmax<T>, 0);
  if (c.operation == "var")
    return reduction(inputs, c, var, expected_variance<T>, sizeof(T) == 2 ? 2e-3 : 1e-4);
  if (c.operation == "copy") return copy(inputs, c);
  if (c.operation == "twice") return twice(inputs, c);
  if (c.operation == "add") return add(inputs, c);
  throw std::runtime_error("no such operation: " + c.operation);
}

/// One element type after another, so that no more than one has its inputs in memory.
template <class T>
void run_cases(const std::vector<Case>& cases, const std::string& dtype) {
  std::int64_t elements = 0;
  for (const Case& c : cases)
    if (c.dtype == dtype) elements = std::max(elements, c.inputs * c.span);
  if (elements == 0) return;
  const Inputs<T> inputs(elements);
  for (const Case& c : cases) {
    if (c.dtype != dtype) continue;
    report_case(c.id, [&] { return seconds_of_case(inputs, c); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_drawn(argc, argv, [](const std::vector<std::string>& lines) {
    std::vector<Case> cases;
    for (const std::string& line : lines) cases.push_back(parse_case(line));
    run_cases<half>(cases, "float16");
    run_cases<float>(cases, "float32");
    run_cases<double>(cases, "float64");
    run_cases<std::int8_t>(cases, "int8");
  });
}
