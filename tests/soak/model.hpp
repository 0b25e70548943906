// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/base/shape.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// What an array is, by plain loops over host memory.
namespace quarry::soak {

using Values = std::vector<std::int64_t>;

/// Elements of memory that views share, with strides in elements.
class Model {
 public:
  /// Dense, in C order.
  Model(Shape shape, Values values);

  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return element_count(shape_); }
  Values values() const;  ///< in C order
  /// As many values as elements, or one for all.
  void write(const Values& values);

  Model transposed() const;
  /// Elements start, start + step, ... of an axis; `count` of them.
  Model sliced(std::size_t axis, std::int64_t start, std::int64_t step, std::int64_t count) const;
  /// Repeated to `shape`; whether that is possible.
  bool broadcasts_to(const Shape& shape) const;
  Model broadcast(const Shape& shape) const;

 private:
  std::vector<std::size_t> places() const;

  std::shared_ptr<Values> memory_;
  std::int64_t first_ = 0;
  Shape shape_;
  std::vector<std::int64_t> steps_;
};

using Binary = std::function<std::int64_t(std::int64_t, std::int64_t)>;
/// Of two models that broadcast to `shape`.
Values combine(const Model& a, const Model& b, const Shape& shape, const Binary& f);
/// Over one axis, from left to right.
Values fold(const Model& a, std::size_t axis, const Binary& f);
/// Arithmetic that wraps.
std::int64_t wrapped_sum(std::int64_t a, std::int64_t b);
std::int64_t wrapped_product(std::int64_t a, std::int64_t b);

}  // namespace quarry::soak
