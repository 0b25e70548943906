// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/shape.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

namespace quarry {

namespace detail {

void throw_extent_too_large(std::uint64_t value) {
  throw ShapeError(fmt::format("{} is more than an extent can be", value));
}

void throw_rank_too_large(std::size_t rank) {
  throw ShapeError(fmt::format("{} dimensions are more than the {} allowed", rank, max_rank));
}

void throw_no_axis(std::size_t axis, std::size_t rank) {
  // as it was written, if it was negative
  throw IndexError(fmt::format("entry {} of {}", static_cast<std::int64_t>(axis), rank));
}

void throw_mul_overflow(std::int64_t a, std::int64_t b) {
  throw SizeOverflow(fmt::format("{} * {} does not fit in 63 bits", a, b));
}

void throw_add_overflow(std::int64_t a, std::int64_t b) {
  throw SizeOverflow(fmt::format("{} + {} does not fit in 63 bits", a, b));
}

}  // namespace detail

void Dims::allocate_heap(std::size_t size) {
  if (size > max_rank) detail::throw_rank_too_large(size);
  storage_.heap = new std::int64_t[max_rank];
}

void Dims::copy_heap(const Dims& other) {
  storage_.heap = new std::int64_t[max_rank];
  std::copy(other.begin(), other.end(), storage_.heap);
}

void Dims::insert(std::size_t at, std::int64_t value) {
  if (size_ == max_rank) detail::throw_rank_too_large(size_ + 1);
  if (size_ == inline_capacity) {
    auto* const heap = new std::int64_t[max_rank];
    std::copy(begin(), end(), heap);
    storage_.heap = heap;
  }
  ++size_;
  std::copy_backward(begin() + at, end() - 1, end());
  data()[at] = value;
}

void Dims::erase(std::size_t at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  truncate(size_ - 1);
}

void Dims::truncate(std::size_t size) {
  const bool moves_inline = on_heap() && size <= inline_capacity;
  std::int64_t* const values = data();
  size_ = size;
  if (!moves_inline) return;
  std::copy_n(values, size, storage_.values);
  delete[] values;
}

std::string to_string(const Dims& dims) {
  return fmt::format("({}{})", fmt::join(dims.begin(), dims.end(), ", "),
                     dims.size() == 1 ? "," : "");
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

std::int64_t element_count(const Shape& shape) {
  bool is_empty = false, fits = true;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    require<ShapeError>(extent >= 0,
                        [&] { return fmt::format("negative extent in {}", to_string(shape)); });
    is_empty = is_empty || extent == 0;
    fits = !__builtin_mul_overflow(count, extent, &count) && fits;
  }
  if (is_empty) return 0;
  require<SizeOverflow>(fits, [&] {
    return fmt::format("the elements of {} do not fit in 63 bits", to_string(shape));
  });
  return count;
}

std::int64_t byte_count(const Shape& shape, std::size_t itemsize) {
  std::int64_t bytes = 0;
  require<SizeOverflow>(!__builtin_mul_overflow(element_count(shape), itemsize, &bytes), [&] {
    return fmt::format("{} elements of {} bytes do not fit in 63 bits", to_string(shape), itemsize);
  });
  return bytes;
}

}  // namespace quarry
