// SPDX-License-Identifier: BSD-3-Clause
#include "array/format.hpp"

#include <quarry/base/error.hpp>

#include "array/format_elements.hpp"
#include "base/float_environment.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace quarry {

namespace {

std::int64_t shown(const Corner& corner) { return corner.leading + corner.trailing; }

/// Arranges the words, given in C order, in brackets and lines: NumPy's _formatArray.
class Brackets {
 public:
  Brackets(std::vector<std::string> words, const Shape& full, std::vector<Corner> corners)
      : words_(std::move(words)), full_(full), corners_(std::move(corners)) {}

  /// `indent` is what a line inside these brackets begins with.
  std::string list(std::size_t axis, const std::string& indent, std::int64_t width) {
    const bool innermost = axis + 1 == full_.size();
    std::string text = "[";
    text += innermost ? row(axis, indent, width - 1) : rows(axis, indent, width);
    return text += ']';
  }

 private:
  bool cut(std::size_t axis) const { return shown(corners_[axis]) < full_[axis]; }

  /// Calls `item(text of the item or "...")` for what one list shows, in order.
  template <class Text, class Item>
  void each(std::size_t axis, Text text, Item item) {
    for (std::int64_t i = 0; i < shown(corners_[axis]); ++i) {
      if (i == corners_[axis].leading && cut(axis)) item("...");
      item(text());
    }
  }

  std::string rows(std::size_t axis, const std::string& indent, std::int64_t width) {
    const std::string separator(full_.size() - axis - 1, '\n');
    std::string text;
    each(
        axis, [&] { return list(axis + 1, indent + ' ', width - 1); },
        [&](const std::string& item) {
          if (!text.empty()) text += separator + indent;
          text += item;
        });
    return text;
  }

  std::string row(std::size_t axis, const std::string& indent, std::int64_t width) {
    std::string text;
    std::string line = indent;
    bool first = true;
    each(
        axis, [&] { return words_[next_++]; },
        [&](const std::string& word) {
          if (!std::exchange(first, false)) line += ' ';
          const bool too_long = std::int64_t(line.size() + word.size()) > width;
          if (too_long && line.size() > indent.size()) {
            text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
            line = indent;
          }
          line += word;
        });
    return (text + line).substr(indent.size());
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
  const Shape& full_;
  std::vector<Corner> corners_;
};

/// Element numbers along each axis are translated by `place(axis, i)`.
template <class Place>
std::vector<std::byte> gather(DType type, const std::byte* data, const Strides& strides,
                              const Shape& shape, Place place) {
  const auto count = std::size_t(element_count(shape));
  std::vector<std::byte> elements(count * type.itemsize());
  Dims index = Dims::filled(shape.size(), 0);
  for (std::size_t n = 0; n < count; ++n) {
    const std::byte* element = data;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      element += place(axis, index[axis]) * strides[axis];
    std::copy_n(element, type.itemsize(), elements.data() + n * type.itemsize());
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return elements;
}

std::string format_gathered(DType type, std::span<const std::byte> elements, const Shape& full,
                            std::vector<Corner> corners, const PrintOptions& options) {
  Brackets brackets(format_elements(type, elements, options), full, std::move(corners));
  return brackets.list(0, " ", options.linewidth);
}

bool is_empty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

}  // namespace

std::vector<Corner> corners(const Shape& shape, const PrintOptions& options) {
  const bool summarised = element_count(shape) > options.threshold;
  const std::int64_t edge = std::clamp<std::int64_t>(options.edgeitems, 1, INT64_MAX / 2);
  std::vector<Corner> result;
  for (const std::int64_t extent : shape)
    result.push_back(summarised && extent > 2 * edge ? Corner{edge, edge} : Corner{extent, 0});
  return result;
}

Shape shape_of(const std::vector<Corner>& corners) {
  Shape shape;
  for (const Corner& corner : corners) shape.push_back(shown(corner));
  return shape;
}

std::string format_array(DType type, const std::byte* data, const Layout& layout,
                         const PrintOptions& options) {
  const FloatEnvironment environment;
  if (is_empty(layout.shape)) return "[]";
  if (layout.rank() == 0) return format_scalar(type, data, options);
  std::vector<Corner> parts = corners(layout.shape, options);
  const auto place = [&](std::size_t axis, std::int64_t i) {
    const Corner& part = parts[axis];
    return i < part.leading ? i : layout.shape[axis] - shown(part) + i;
  };
  const std::vector<std::byte> elements =
      gather(type, data, layout.strides, shape_of(parts), place);
  return format_gathered(type, elements, layout.shape, std::move(parts), options);
}

std::string format_corners(DType type, const std::byte* data, const Layout& layout,
                           const Shape& full, const PrintOptions& options) {
  const FloatEnvironment environment;
  std::vector<Corner> parts = corners(full, options);
  require<ShapeError>(layout.shape == shape_of(parts), [&] {
    return "the corners of shape " + to_string(full) + " have shape " + to_string(shape_of(parts)) +
           ", not " + to_string(layout.shape);
  });
  if (is_empty(full)) return "[]";
  if (full.empty()) return format_scalar(type, data, options);
  const auto place = [](std::size_t, std::int64_t i) { return i; };
  const std::vector<std::byte> elements = gather(type, data, layout.strides, layout.shape, place);
  return format_gathered(type, elements, full, std::move(parts), options);
}

}  // namespace quarry
