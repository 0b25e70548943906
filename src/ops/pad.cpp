// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/pad.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <complex>

namespace quarry {

void detail::require_pair(std::size_t numbers) {
  require<ShapeError>(numbers <= 2, [&] { return fmt::format("a pair of {} numbers", numbers); });
}

void detail::require_pairs(std::size_t pairs, std::size_t rank) {
  require<ShapeError>(pairs == 1 || pairs == rank, [&] {
    return fmt::format("pad: {} pairs for an array of {} axes", pairs, rank);
  });
}

void detail::require_stat_lengths(std::int64_t before, std::int64_t after) {
  require<ShapeError>(before > 0 && after > 0, [&] {
    return fmt::format("pad: statistics of {} and {} elements", before, after);
  });
}

namespace expr {
namespace {

using Kind = PadMove::Kind;

/// What is filled of an axis, and what is not yet.
struct Filled {
  std::int64_t first, past;
  std::int64_t before, after;

  std::int64_t length() const { return past - first; }
  bool is_whole() const { return before == 0 && after == 0; }
  void move(std::int64_t left, std::int64_t right) {
    first -= left, before -= left;
    past += right, after -= right;
  }
};

/// Rounded down to whole periods, as NumPy's, so that repetitions fit.
std::int64_t whole_periods(std::int64_t length, std::int64_t period) {
  return length / period * period;
}

void reflect(std::vector<PadMove>& moves, Filled& filled, std::int64_t extent, bool with_edge) {
  const std::int64_t own = with_edge ? 1 : 0;  // whether the edge is among what is reflected
  const std::int64_t most = with_edge ? whole_periods(filled.length(), extent)
                                      : whole_periods(filled.length() - 1, extent - 1);
  const std::int64_t left = std::min(most, filled.before), right = std::min(most, filled.after);
  if (left > 0) {
    moves.push_back(
        {Kind::reflected, filled.first - left, filled.first - own + 1, left, filled.first});
  }
  if (right > 0) {
    moves.push_back(
        {Kind::reflected, filled.past, filled.past + own - 1 - right, right, filled.past - 1});
  }
  filled.move(left, right);
}

void wrap(std::vector<PadMove>& moves, Filled& filled, std::int64_t extent) {
  const std::int64_t period = whole_periods(filled.length(), extent);
  const std::int64_t left = std::min(period, filled.before), right = std::min(period, filled.after);
  if (left > 0) {
    moves.push_back({Kind::copied, filled.first - left, filled.first + period - left, left});
  }
  if (right > 0) moves.push_back({Kind::copied, filled.past, filled.past - period, right});
  filled.move(left, right);
}

/// Along an axis of the layout: elsewhere it stays.
View along_axis(const View& from, std::size_t axis, std::int64_t first, std::int64_t count) {
  View result =
      shape_views::cut(from.layout, static_cast<std::int64_t>(axis), range(first, first + count));
  result.offset += from.offset;
  return result;
}

DeviceRef seen(const DeviceRef& array, const View& view) {
  return {array.data + view.offset, array.dtype, view.layout, array.buffer};
}

}  // namespace

PadFrame::PadFrame(const Shape& inside, const PadPairs<std::int64_t>& widths, PadMode mode)
    : inside_(inside) {
  const bool needs_elements = mode != PadMode::constant && mode != PadMode::empty;
  for (std::size_t d = 0; d < rank(); ++d) {
    before_.push_back(widths.before(d, rank()));
    after_.push_back(widths.after(d, rank()));
    require<ShapeError>(before_[d] >= 0 && after_[d] >= 0, [&] {
      return fmt::format("pad: widths {} and {} of axis {}", before_[d], after_[d], d);
    });
    require<ShapeError>(!needs_elements || inside_[d] > 0 || (before_[d] == 0 && after_[d] == 0),
                        [&] { return fmt::format("pad: axis {} has no elements to pad with", d); });
  }
}

Shape PadFrame::shape() const {
  Shape result = inside_;
  for (std::size_t d = 0; d < rank(); ++d) {
    result[d] = checked_add(checked_add(result[d], before_[d]), after_[d]);
  }
  return result;
}

View PadFrame::inside(const Layout& result) const {
  View view{result};
  for (std::size_t d = 0; d < rank(); ++d) view = along_axis(view, d, before_[d], inside_[d]);
  return view;
}

View PadFrame::part(const Layout& result, std::size_t axis, std::int64_t first,
                    std::int64_t count) const {
  View view = along_axis({result}, axis, before_[axis] + first, count);
  for (std::size_t d = axis + 1; d < rank(); ++d) {
    view = along_axis(view, d, before_[d], inside_[d]);
  }
  return view;
}

std::vector<PadMove> pad_moves(const PadFrame& frame, std::size_t axis, PadMode mode) {
  const std::int64_t extent = frame.extent(axis);
  Filled filled{0, extent, frame.before(axis), frame.after(axis)};
  std::vector<PadMove> moves;
  if (mode == PadMode::edge || (mode != PadMode::wrap && extent == 1)) {
    moves.push_back({Kind::edge, -filled.before, 0, filled.before});
    moves.push_back({Kind::edge, extent, extent - 1, filled.after});
    return moves;
  }
  while (!filled.is_whole()) {
    if (mode == PadMode::wrap) {
      wrap(moves, filled, extent);
    } else {
      reflect(moves, filled, extent, mode == PadMode::symmetric);
    }
  }
  return moves;
}

void pad_by_moves(const DeviceNDArrayBase& result, const PadFrame& frame, PadMode mode) {
  const DeviceRef array = result.ref();
  const Stream& stream = quarry::detail::stream_for(result);
  for (std::size_t d = 0; d < frame.rank(); ++d) {
    for (const PadMove& move : pad_moves(frame, d, mode)) {
      View from =
          frame.part(result.layout(), d, move.from, move.kind == Kind::edge ? 1 : move.count);
      if (move.kind == Kind::reflected) {
        const auto axis = static_cast<std::int64_t>(d);
        const View back = shape_views::flip(from.layout, {&axis, 1});
        from = {back.layout, from.offset + back.offset};
      }
      copy_elements(seen(array, frame.part(result.layout(), d, move.to, move.count)),
                    seen(array, from), stream);
    }
  }
}

namespace {

bool is_less(double a, double b) { return a < b; }
bool is_less(const std::complex<double>& a, const std::complex<double>& b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

template <class T>
DeviceNDArray<T> medians_of(const DeviceNDArray<T>& values, std::int64_t axis) {
  const auto less = [](const T& a, const T& b) { return is_less(a, b); };
  const auto rows = moveaxis(values, axis, -1);
  const auto length = static_cast<std::size_t>(rows.shape().back());
  std::vector<T> elements(static_cast<std::size_t>(rows.size()));
  rows.copy_to_host(elements);
  std::vector<T> result;
  for (auto row = elements.begin(); row != elements.end(); row += std::ptrdiff_t(length)) {
    const auto past = row + std::ptrdiff_t(length), middle = row + std::ptrdiff_t(length / 2);
    const auto nan = std::find_if(row, past, [](const T& x) { return x != x; });
    if (nan != past) {
      result.push_back(*nan);
      continue;
    }
    std::nth_element(row, middle, past, less);
    const bool is_odd = length % 2 == 1;
    result.push_back(is_odd ? *middle : (*std::max_element(row, middle, less) + *middle) / 2.);
  }
  Shape shape = rows.shape();
  shape.back() = 1;
  const auto found = to_device(result, {.stream = quarry::detail::stream_for(values)});
  return moveaxis(found.reshape(shape), -1, axis);
}

}  // namespace

DeviceNDArray<double> medians(const DeviceNDArray<double>& values, std::int64_t axis) {
  return medians_of(values, axis);
}
DeviceNDArray<std::complex<double>> medians(const DeviceNDArray<std::complex<double>>& values,
                                            std::int64_t axis) {
  return medians_of(values, axis);
}

}  // namespace expr
}  // namespace quarry
