// SPDX-License-Identifier: BSD-3-Clause
#include "soak/model.hpp"

#include <algorithm>

namespace quarry::soak {

Model::Model(Shape shape, Values values)
    : memory_(std::make_shared<Values>(std::move(values))), shape_(shape), steps_(shape.size()) {
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    steps_[d] = step;
    step *= shape[d];
  }
}

std::vector<std::size_t> Model::places() const {
  std::vector<std::size_t> all{static_cast<std::size_t>(first_)};
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    std::vector<std::size_t> next;
    for (const std::size_t at : all) {
      for (std::int64_t i = 0; i < shape_[d]; ++i) {
        next.push_back(static_cast<std::size_t>(static_cast<std::int64_t>(at) + i * steps_[d]));
      }
    }
    all = std::move(next);
  }
  return all;
}

Values Model::values() const {
  Values result;
  for (const std::size_t at : places()) result.push_back((*memory_)[at]);
  return result;
}

void Model::write(const Values& values) {
  std::size_t k = 0;
  for (const std::size_t at : places())
    (*memory_)[at] = values.size() == 1 ? values[0] : values[k++];
}

Model Model::transposed() const {
  Model result = *this;
  std::reverse(result.shape_.begin(), result.shape_.end());
  std::reverse(result.steps_.begin(), result.steps_.end());
  return result;
}

Model Model::sliced(std::size_t axis, std::int64_t start, std::int64_t step,
                    std::int64_t count) const {
  Model result = *this;
  result.first_ += start * steps_[axis];
  result.steps_[axis] *= step;
  result.shape_[axis] = count;
  return result;
}

bool Model::broadcasts_to(const Shape& shape) const {
  if (shape_.size() > shape.size()) return false;
  const std::size_t missing = shape.size() - shape_.size();
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] != 1 && shape_[d] != shape[missing + d]) return false;
  }
  return true;
}

Model Model::broadcast(const Shape& shape) const {
  Model result = *this;
  result.shape_ = shape;
  result.steps_.assign(shape.size(), 0);
  const std::size_t missing = shape.size() - shape_.size();
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] != 1) result.steps_[missing + d] = steps_[d];
  }
  return result;
}

Values combine(const Model& a, const Model& b, const Shape& shape, const Binary& f) {
  Values result = a.broadcast(shape).values();
  const Values other = b.broadcast(shape).values();
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(result[i], other[i]);
  return result;
}

Values fold(const Model& a, std::size_t axis, const Binary& f) {
  Values result = a.sliced(axis, 0, 1, 1).values();
  for (std::int64_t i = 1; i < a.shape()[axis]; ++i) {
    const Values more = a.sliced(axis, i, 1, 1).values();
    for (std::size_t k = 0; k < result.size(); ++k) result[k] = f(result[k], more[k]);
  }
  return result;
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace quarry::soak
