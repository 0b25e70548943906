// SPDX-License-Identifier: BSD-3-Clause
// Times the cases that bench/drawn.py has drawn of bench/indexing_cases.py: masks, gathers,
// scatters and joins. Usage: bench_indexing CASES, or bench_indexing --machine
//
// For every case a line "ID ok SECONDS" or "ID error REASON". Each result is compared once, at some
// of its elements, with plain loops.
#include <Eigen/Core>

#include "drawn.hpp"

namespace {

using namespace bench;
using Eigen::half;
using Index = std::int64_t;

/// The fields are explained in bench/indexing_cases.py, class Case.
struct IndexingCase {
  std::string id, operation, dtype;
  Extents shape;
  Index count = 0, axis = 0;

  Index rows() const { return shape[0]; }
  Index row() const { return product(shape) / rows(); }
};

IndexingCase parse(const std::string& line) {
  std::istringstream stream(line);
  std::string shape;
  IndexingCase c;
  stream >> c.id >> c.operation >> c.dtype >> shape >> c.count >> c.axis;
  if (!stream) throw std::runtime_error("not a case: " + line);
  c.shape = parse_extents(shape);
  return c;
}

template <class T>
Array<T> operand(const Extents& shape, Index first = 0) {
  return array_of<T>(product(shape), [=](Index i) { return value<T>(first + i); }).reshape(shape);
}

/// The shortest repetition of work() tells nothing of the others: the median, with the caches
/// filled by something else before each.
template <class F>
double seconds_of(F work) {
  const auto once = [&] {
    occupy_device();
    return time_on_device(work);
  };
  return median(take_samples(once, {.warm_up = 1}));
}

// --- masks ------------------------------------------------------------------------------------

struct Mask {
  double share;
  bool operator()(Index i) const { return static_cast<double>(uniform(1, i)) < share; }
  Array<bool> array(Index n) const { return array_of<std::uint8_t>(n, *this) != 0; }
};

template <class T>
double read(const IndexingCase& c) {
  const Mask kept{static_cast<double>(c.count) / 100};
  const Array<T> x = operand<T>(c.shape);
  const Array<bool> mask = kept.array(c.rows());
  Array<T> out = x(mask);
  const double found = sum_of(c.rows(), [&](Index i) { return kept(i) ? 1. : 0.; });
  expect_near(static_cast<double>(out.shape()[0]), found, 0, "rows");
  std::vector<Index> first;
  const Index some = std::min<Index>(out.shape()[0], 1000);
  for (Index i = 0; static_cast<Index>(first.size()) < some; ++i)
    if (kept(i)) first.push_back(i);
  const auto expected = [&](Index i) {
    return value<T>(first[static_cast<std::size_t>(i / c.row())] * c.row() + i % c.row());
  };
  check_part(out.ravel(), 0, some * c.row(), 1, expected, 0);
  return seconds_of([&] { out = x(mask); });
}

template <class T>
double write(const IndexingCase& c) {
  const Mask chosen{static_cast<double>(c.count) / 100};
  const Array<T> x = operand<T>(c.shape);
  const Array<bool> mask = chosen.array(c.rows());
  x(mask) = static_cast<T>(1);
  check(
      x, [&](Index i) { return chosen(i / c.row()) ? static_cast<T>(1) : value<T>(i); }, 0);
  return seconds_of([&] { x(mask) = static_cast<T>(1); });
}

// --- positions --------------------------------------------------------------------------------

/// A permutation of [0, rows) without order, from which positions are taken: a multiple of a prime
/// that is larger than `rows`.
struct Position {
  Index rows;
  Index operator()(Index i) const { return (i * 2654435761 + 17) % rows; }
};

template <class T>
double gather(const IndexingCase& c) {
  const Position position{c.rows()};
  const Array<T> x = operand<T>(c.shape);
  const auto positions = array_of<Index>(c.count, position);
  Array<T> out = x(positions);
  check(
      out, [&](Index i) { return value<T>(position(i / c.row()) * c.row() + i % c.row()); }, 0);
  return seconds_of([&] { out = x(positions); });
}

template <class T>
double scatter(const IndexingCase& c) {
  const Position position{c.rows()};
  const Array<T> x = operand<T>(c.shape);
  const auto positions = array_of<Index>(c.count, position);
  Extents shape = c.shape;
  shape[0] = c.count;
  const Array<T> values = operand<T>(shape, 12345);
  x(positions) = values;
  const Array<T> back = x(positions);  // no position is there twice
  check(
      back, [](Index i) { return value<T>(12345 + i); }, 0);
  return seconds_of([&] { x(positions) = values; });
}

template <class T>
double add_at(const IndexingCase& c) {
  const Array<T> x = qy::zeros<T>(c.shape);
  const auto position = [&](Index i) {
    return static_cast<Index>(uniform(2, i) * static_cast<float>(c.rows())) % c.rows();
  };
  const auto positions = array_of<Index>(c.count, position);
  const Array<T> values = operand<T>({c.count});
  qy::add_at(x(positions), values);
  std::vector<double> expected(static_cast<std::size_t>(c.rows()));
  for (Index i = 0; i < c.count; ++i)
    expected[static_cast<std::size_t>(position(i))] += static_cast<double>(value<T>(i));
  check(
      x, [&](Index i) { return expected[static_cast<std::size_t>(i)]; }, 1e-5);
  return seconds_of([&] { qy::add_at(x(positions), values); });
}

// --- joins ------------------------------------------------------------------------------------

/// `from(at)`: the element of the operands, one after another, that belongs at the coordinates of
/// the result, or -1 for zero.
template <class T, class Work, class From>
double join(const IndexingCase& c, Work work, From from) {
  std::vector<Array<T>> operands;
  const bool several = c.operation == "concatenate" || c.operation == "stack";
  for (Index j = 0; j < (several ? c.count : 1); ++j)
    operands.push_back(operand<T>(c.shape, j * product(c.shape)));
  Array<T> out = work(operands);
  const qy::Shape shape = out.shape();
  const auto expected = [&](Index i) {
    Extents at(shape.size());
    for (std::size_t d = at.size(); d-- > 0; i /= shape[d]) at[d] = i % shape[d];
    const Index element = from(at);
    return element < 0 ? T{} : value<T>(element);
  };
  check(out, expected, 0);
  return seconds_of([&] { out = work(operands); });
}

template <class T>
double joined(const IndexingCase& c) {
  const auto axis = static_cast<std::size_t>(c.axis);
  const auto element = [&](const Extents& at) {
    Index i = 0;
    for (std::size_t d = 0; d < at.size(); ++d) i = i * c.shape[d] + at[d];
    return i;
  };
  // the same coordinates but that along the axis
  const auto along = [&](auto f) {
    return [&, f](Extents at) { return at[axis] = f(at[axis], c.shape[axis]), element(at); };
  };
  if (c.operation == "concatenate") {
    return join<T>(
        c, [&](const auto& parts) { return qy::concatenate(parts, c.axis); },
        [&](Extents at) {
          const Index part = at[axis] / c.shape[axis];
          at[axis] %= c.shape[axis];
          return part * product(c.shape) + element(at);
        });
  }
  if (c.operation == "stack") {
    return join<T>(
        c, [&](const auto& parts) { return qy::stack(parts, c.axis); },
        [&](Extents at) {
          const Index part = at[axis];
          at.erase(at.begin() + c.axis);
          return part * product(c.shape) + element(at);
        });
  }
  if (c.operation == "pad") {
    return join<T>(
        c, [&](const auto& parts) { return qy::pad(parts[0], c.count); },
        [&](Extents at) {
          for (std::size_t d = 0; d < at.size(); ++d) {
            at[d] -= c.count;
            if (at[d] < 0 || at[d] >= c.shape[d]) return Index{-1};
          }
          return element(at);
        });
  }
  if (c.operation == "tile") {
    Extents counts(c.shape.size(), 1);
    counts[axis] = c.count;
    return join<T>(
        c, [&](const auto& parts) { return qy::tile(parts[0], qy::Shape(counts)); },
        along([](Index at, Index extent) { return at % extent; }));
  }
  if (c.operation == "roll") {
    return join<T>(
        c, [&](const auto& parts) { return qy::roll(parts[0], c.count, c.axis); },
        along([&](Index at, Index extent) { return (at - c.count % extent + extent) % extent; }));
  }
  if (c.operation == "flip") {
    return join<T>(
        c, [&](const auto& parts) { return qy::flip(parts[0], c.axis).copy(); },
        along([](Index at, Index extent) { return extent - 1 - at; }));
  }
  throw std::runtime_error("no such operation: " + c.operation);
}

// --- the program ------------------------------------------------------------------------------

template <class T>
double seconds_of_case(const IndexingCase& c) {
  if (c.operation == "read") return read<T>(c);
  if (c.operation == "write") return write<T>(c);
  if (c.operation == "gather") return gather<T>(c);
  if (c.operation == "scatter") return scatter<T>(c);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    if (c.operation == "add_at") return add_at<T>(c);
  return joined<T>(c);
}

double seconds(const IndexingCase& c) {
  if (c.dtype == "float16") return seconds_of_case<half>(c);
  if (c.dtype == "float32") return seconds_of_case<float>(c);
  if (c.dtype == "float64") return seconds_of_case<double>(c);
  if (c.dtype == "int8") return seconds_of_case<std::int8_t>(c);
  throw std::runtime_error("no such element type: " + c.dtype);
}

}  // namespace

int main(int argc, char** argv) {
  return run_drawn(argc, argv, [](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      const IndexingCase c = parse(line);
      report_case(c.id, [&] { return seconds(c); });
    }
  });
}
