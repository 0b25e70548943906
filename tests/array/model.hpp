// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

/// Oracles of the array tests: host memory in C order, and views as lists of positions.
namespace quarry::test {

using Ints = std::vector<std::int64_t>;

/// Whether a launch costs so much here (a simulated or a real GPU) that random tests do fewer
/// rounds.
inline bool kind_is_slow() { return !get_current_device().is_cpu(); }

/// A dense host array in C order, of any element type (bool too).
template <class T>
class Host {
 public:
  explicit Host(Ints shape) : shape_(std::move(shape)), strides_(shape_.size()) {
    std::int64_t n = 1;
    for (std::size_t d = shape_.size(); d-- > 0; n *= shape_[d]) strides_[d] = n;
    size_ = static_cast<std::size_t>(n);
    data_ = std::make_unique<T[]>(size_ + 1);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  const Ints& shape() const { return shape_; }
  const Ints& strides() const { return strides_; }
  std::size_t count() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::vector<T> list() const { return std::vector<T>(data_.get(), data_.get() + size_); }

 private:
  Ints shape_, strides_;
  std::size_t size_;
  std::unique_ptr<T[]> data_;
};

/// What an array holds, in C order.
template <class T>
Host<std::remove_const_t<T>> read(const DeviceNDArray<T>& array) {
  Host<std::remove_const_t<T>> host(Ints(array.shape().begin(), array.shape().end()));
  array.copy_to_host(host);
  return host;
}
template <class T>
auto values(const DeviceNDArray<T>& array) {
  return read(array).list();
}
template <Expression E>
auto values(const E& e) {
  return values(eval(e));
}

/// 0, 1, 2, ... in C order.
template <class T>
Host<T> counted(const Ints& shape) {
  Host<T> host(shape);
  for (std::size_t i = 0; i < host.count(); ++i) host[i] = static_cast<T>(i);
  return host;
}

/// A view of a dense array: element k, in C order, is the base's element at[k].
struct Model {
  Ints shape, at;
};

inline Model whole(const Ints& shape) {
  Model m{shape, {}};
  m.at.resize(Host<char>(shape).count());
  std::iota(m.at.begin(), m.at.end(), 0);
  return m;
}

/// numpy.take along one axis.
inline Model take(const Model& m, std::size_t axis, const Ints& positions) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= m.shape[d];
  for (std::size_t d = axis + 1; d < m.shape.size(); ++d) inner *= m.shape[d];
  Model result{m.shape, {}};
  result.shape[axis] = static_cast<std::int64_t>(positions.size());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t p : positions) {
      const auto from = m.at.begin() + (o * m.shape[axis] + p) * inner;
      result.at.insert(result.at.end(), from, from + inner);
    }
  }
  return result;
}

inline Model permute(const Model& m, const std::vector<std::size_t>& axes) {
  Ints strides(m.shape.size(), 1);
  for (std::size_t d = m.shape.size(); d-- > 1;) strides[d - 1] = strides[d] * m.shape[d];
  Model result{{}, {}};
  for (const std::size_t a : axes) result.shape.push_back(m.shape[a]);
  Ints index(axes.size(), 0);
  for (std::size_t k = 0; k < m.at.size(); ++k) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < axes.size(); ++d) at += index[d] * strides[axes[d]];
    result.at.push_back(m.at[static_cast<std::size_t>(at)]);
    for (std::size_t d = axes.size(); d-- > 0 && ++index[d] == result.shape[d];) index[d] = 0;
  }
  return result;
}

/// Python's start:stop:step over an axis, by its documentation.
inline Ints slice_positions(const Range& r, std::int64_t n) {
  const std::int64_t step = r.step.given ? r.step.value : 1;
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](const Bound& b, std::int64_t missing) {
    if (!b.given) return missing;
    if (b.value < 0) return std::max(b.value + n, low);
    return std::min(b.value, high);
  };
  Ints list;
  const std::int64_t stop = bound(r.stop, step > 0 ? high : low);
  for (std::int64_t i = bound(r.start, step > 0 ? low : high); step > 0 ? i < stop : i > stop;
       i += step) {
    list.push_back(i);
  }
  return list;
}

/// An array's view and what it must show.
template <class T>
struct Seen {
  DeviceNDArray<T> array;
  Model model;
};

/// Random numbers of the tests: a fixed seed, so that a failure comes again.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool coin() { return between(0, 1) == 1; }
  Range range(std::int64_t n) {
    const auto bound = [&] { return between(0, 3) ? Bound(between(-n - 1, n + 1)) : Bound(_); };
    const std::int64_t step = between(1, 3);
    return {bound(), bound(), coin() ? step : -step};
  }
  /// A range of exactly `count` of `n` positions.
  Range exactly(std::int64_t count, std::int64_t n) {
    if (count == 0) return {0, 0, 1};
    const std::int64_t longest = count > 1 ? (n - 1) / (count - 1) : 1;
    const std::int64_t step = between(1, std::min<std::int64_t>(longest, 3));
    const std::int64_t first = between(0, n - 1 - (count - 1) * step);
    const std::int64_t last = first + (count - 1) * step;
    if (coin()) return {first, last + 1, step};
    return {last, first == 0 ? Bound(_) : Bound(first - 1), -step};
  }
  template <class T>
  Seen<T> slice(const Seen<T>& from) {
    Seen<T> result = from;
    for (std::size_t d = 0; d < from.array.ndim(); ++d) {
      result = cut(result, d, range(result.model.shape[d]));
    }
    return coin() ? shuffle(result) : result;
  }
  template <class T>
  Seen<T> cut(const Seen<T>& from, std::size_t axis, const Range& r) {
    std::vector<Index> entries(axis, Index(all));
    entries.push_back(r);
    const View view = index(from.array.layout(), entries);
    return {DeviceNDArray<T>(view.layout, from.array.device_pointer() + view.offset,
                             from.array.buffer()),
            take(from.model, axis, slice_positions(r, from.model.shape[axis]))};
  }
  template <class T>
  Seen<T> shuffle(const Seen<T>& from) {
    std::vector<std::size_t> axes(from.array.ndim());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), engine_);
    const std::vector<std::int64_t> list(axes.begin(), axes.end());
    return {DeviceNDArray<T>(transpose(from.array.layout(), list), from.array.device_pointer(),
                             from.array.buffer()),
            permute(from.model, axes)};
  }
  Ints shape(std::size_t rank, std::int64_t most) {
    Ints list;
    for (std::size_t d = 0; d < rank; ++d) list.push_back(between(0, most));
    return list;
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

inline Shape as_shape(const Ints& list) { return {list.begin(), list.end()}; }

}  // namespace quarry::test
