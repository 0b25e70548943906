// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "array/model.hpp"

namespace quarry::test {

/// A mask with no, few, half of, or all elements true.
struct Mask {
  Mask(Random& random, const Ints& shape) : shape(shape) {
    const std::int64_t share = std::array{0, 2, 50, 100}[std::size_t(random.between(0, 3))];
    Host<bool> host(shape);
    for (std::size_t i = 0; i < host.count(); ++i) {
      host[i] = random.between(0, 99) < share;
      list.push_back(host[i]);
    }
    array = to_device(host);
    if (random.coin()) array = array.transpose().copy().transpose();  // in another order
  }
  std::int64_t count() const { return std::count(list.begin(), list.end(), char(true)); }
  Ints shape;
  std::vector<char> list;
  DeviceNDArray<bool> array;
};

}  // namespace quarry::test
