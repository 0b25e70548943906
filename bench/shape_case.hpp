// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>

#include "drawn.hpp"

/// The cases that bench/drawn.py has drawn, and where their elements lie.
namespace bench {

/// The fields are explained in bench/shape_cases.py, class Case.
struct Case {
  std::string id, operation, dtype;
  Extents memory, order, axes, second;
  std::int64_t step = 1, inputs = 1, span = 0, second_at = 0;
};

/// One line of the file of cases: Case.line() of bench/shape_cases.py.
inline Case parse_case(const std::string& line) {
  std::istringstream stream(line);
  std::string memory, order, axes, second;
  Case c;
  stream >> c.id >> c.operation >> c.dtype >> memory >> c.step >> order >> axes >> second >>
      c.inputs >> c.span >> c.second_at;
  if (!stream) throw std::runtime_error("not a case: " + line);
  c.memory = parse_extents(memory);
  c.order = parse_extents(order);
  c.axes = parse_extents(axes);
  c.second = parse_extents(second);
  return c;
}

/// Axes of a view by their extents and strides, in elements: the oracle's own arithmetic.
struct ElementAxes {
  Extents extents, strides;

  void add(std::int64_t extent, std::int64_t stride) {
    extents.push_back(extent);
    strides.push_back(stride);
  }
  std::int64_t size() const { return product(extents); }
  /// The offset of element `i` in C order.
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t d = extents.size(); d-- > 0; i /= extents[d])
      at += i % extents[d] * strides[d];
    return at;
  }
};

/// The axes of the view of a case.
inline ElementAxes axes_of_view(const Case& c) {
  Extents extents = c.memory, strides(c.memory.size());
  std::int64_t stride = 1;
  for (std::size_t d = strides.size(); d-- > 0; stride *= c.memory[d]) strides[d] = stride;
  extents.back() = (extents.back() + c.step - 1) / c.step;
  strides.back() = c.step;
  ElementAxes view;
  for (const std::int64_t axis : c.order) {
    const auto d = static_cast<std::size_t>(axis);
    view.add(extents.at(d), strides.at(d));
  }
  return view;
}

/// The same, without the reduced axes or without all the others.
inline ElementAxes chosen_axes(const Case& c, bool reduced) {
  const ElementAxes view = axes_of_view(c);
  ElementAxes chosen;
  for (std::size_t d = 0; d < view.extents.size(); ++d) {
    const auto found = std::find(c.axes.begin(), c.axes.end(), static_cast<std::int64_t>(d));
    if ((found != c.axes.end()) == reduced) chosen.add(view.extents[d], view.strides[d]);
  }
  return chosen;
}

/// The axes of the second operand, broadcast to those of the view.
inline ElementAxes axes_of_second(const Case& c) {
  const ElementAxes view = axes_of_view(c);
  ElementAxes second{view.extents, Extents(view.extents.size(), 0)};
  const std::size_t missing = view.extents.size() - c.second.size();
  std::int64_t stride = 1;
  for (std::size_t d = c.second.size(); d-- > 0; stride *= c.second[d])
    second.strides[missing + d] = c.second[d] == 1 ? 0 : stride;
  return second;
}

}  // namespace bench
