// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <functional>

#include "array/model.hpp"

/// Indices with arrays of positions and masks among their entries, known at run time, and which
/// elements they select by NumPy's documentation.
namespace quarry::test {

/// An entry as a test sees it.
struct Entry {
  /// `trues` are the positions of a mask without axes.
  enum class Kind { integer, range, newaxis, ellipsis, positions, mask, trues } kind;
  std::int64_t integer = 0;
  Range range = {_, _, 1};
  Ints shape = {}, positions = {};  ///< of an array, in C order; of a mask 0 and 1

  bool takes_axes() const {
    return kind != Kind::newaxis && kind != Kind::ellipsis && kind != Kind::trues;
  }
  bool has_positions() const { return kind == Kind::positions || kind == Kind::trues; }
};

/// The entries as a list has them, arrays of I. Without an order the memory of masks is dense.
template <class I>
std::vector<IndexEntry> listed(const std::vector<Entry>& entries) {
  using Kind = Entry::Kind;
  std::vector<IndexEntry> list;
  for (const Entry& entry : entries) {
    Host<I> host(entry.shape);
    Host<bool> mask(entry.shape);
    for (std::size_t k = 0; k < entry.positions.size(); ++k) {
      host[k] = static_cast<I>(entry.positions[k]);
      mask[k] = entry.positions[k] != 0;
    }
    if (entry.kind == Kind::integer) list.push_back(entry.integer);
    if (entry.kind == Kind::range) list.push_back(entry.range);
    if (entry.kind == Kind::newaxis) list.push_back(newaxis);
    if (entry.kind == Kind::ellipsis) list.push_back(ellipsis);
    if (entry.kind == Kind::positions) list.push_back(to_device(host));
    if (entry.kind == Kind::mask) list.push_back(to_device(mask, {.order = Order::f}));
  }
  return list;
}

/// Calls `f` with a function that gives what `array` is at the entries, whose arrays are of `I`;
/// with more than `Most` arrays among them it does nothing. What the entries are is not part of its
/// type, only how many arrays there are.
template <class I, std::size_t Most = 4, class Array, class F, class... Done>
void with_selection(const Array& array, const std::vector<Entry>& entries, const F& f,
                    const Done&... done) {
  constexpr std::size_t arrays = (0 + ... + std::size_t{!std::is_same_v<Done, Index>});
  if (sizeof...(done) == entries.size()) {
    if constexpr (arrays > 0) {
      f(std::function<decltype(array(done...))()>([&] { return array(done...); }));
    }
    return;
  }
  if constexpr (sizeof...(done) < 4) {
    const Entry& entry = entries[sizeof...(done)];
    const auto with = [&](const auto& next) {
      with_selection<I, Most>(array, entries, f, done..., next);
    };
    switch (entry.kind) {
      case Entry::Kind::integer:
        return with(Index(entry.integer));
      case Entry::Kind::range:
        return with(Index(entry.range));
      case Entry::Kind::newaxis:
        return with(Index(newaxis));
      case Entry::Kind::ellipsis:
        return with(Index(ellipsis));
      default:
        break;
    }
    if constexpr (arrays < Most) {
      Host<I> host(entry.shape);
      for (std::size_t k = 0; k < host.count(); ++k) host[k] = static_cast<I>(entry.positions[k]);
      with(to_device(host));
    }
  }
}

/// The position in `shape` of an element of the shape `result`, to which it broadcasts behind
/// `before` axes.
inline std::size_t broadcast_position(const Ints& at, std::size_t before, std::size_t rank,
                                      const Ints& shape) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t i = at[before + rank - shape.size() + d];
    position = position * shape[d] + (shape[d] == 1 ? 0 : i);
  }
  return static_cast<std::size_t>(position);
}

/// The entries with a mask's positions along each of its axes in its place.
inline std::vector<Entry> without_masks(const std::vector<Entry>& entries) {
  using Kind = Entry::Kind;
  std::vector<Entry> list;
  for (const Entry& e : entries) {
    if (e.kind != Kind::mask) {
      list.push_back(e);
      continue;
    }
    std::vector<Entry> axes(std::max<std::size_t>(e.shape.size(), 1), Entry{Kind::positions});
    if (e.shape.empty()) axes[0].kind = Kind::trues;
    for (std::size_t k = 0; k < e.positions.size(); ++k) {
      if (e.positions[k] == 0) continue;
      auto rest = std::int64_t(k);
      for (std::size_t d = axes.size(); d-- > 0;) {
        const std::int64_t extent = e.shape.empty() ? 1 : e.shape[d];
        axes[d].positions.push_back(rest % extent);
        rest /= extent;
      }
    }
    for (Entry& axis : axes) axis.shape = {std::int64_t(axis.positions.size())};
    list.insert(list.end(), axes.begin(), axes.end());
  }
  return list;
}

/// The elements of an array of this shape that an index selects, by their numbers in C order.
inline Model selected(const Ints& shape, const std::vector<Entry>& index) {
  using Kind = Entry::Kind;
  std::vector<Entry> entries = without_masks(index);
  std::size_t named = 0;
  for (const Entry& e : entries) named += e.takes_axes();
  auto dots = std::find_if(entries.begin(), entries.end(),
                           [](const Entry& e) { return e.kind == Kind::ellipsis; });
  const bool has_dots = dots != entries.end();
  const auto whole = static_cast<std::size_t>(dots - entries.begin());
  entries.insert(dots, shape.size() - named, Entry{.kind = Kind::range, .range = {_, _, 1}});
  if (has_dots) entries[whole + shape.size() - named].kind = Kind::ellipsis;

  Ints together;  // the shape of all positions
  std::size_t first = 0, last = 0, kept_before = 0, advanced = 0;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    if (e.has_positions()) {
      const Shape both = broadcast_shapes(as_shape(together), as_shape(e.shape));
      together.assign(both.begin(), both.end());
    }
    if (!e.has_positions() && e.kind != Kind::integer) continue;
    if (advanced++ == 0) first = k;
    last = k;
  }
  if (last - first + 1 == advanced) {
    for (std::size_t k = 0; k < first; ++k) kept_before += entries[k].kind != Kind::ellipsis;
  }
  Ints result;
  std::vector<Ints> kept;  // the positions of the axes that ranges keep
  for (std::size_t k = 0, axis = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    if (e.kind == Kind::ellipsis) continue;
    if (e.kind == Kind::range) kept.push_back(slice_positions(e.range, shape[axis]));
    if (e.kind == Kind::newaxis) kept.push_back({0});
    axis += e.takes_axes();
  }
  for (const Ints& list : kept) result.push_back(std::int64_t(list.size()));
  result.insert(result.begin() + std::int64_t(kept_before), together.begin(), together.end());

  Model model{result, {}};
  Ints at(result.size(), 0);
  for (std::size_t n = Host<char>(result).count(); n > 0; --n) {
    std::int64_t element = 0;
    std::size_t axis = 0, range = 0;
    for (const Entry& e : entries) {
      if (e.kind == Kind::ellipsis || e.kind == Kind::trues) continue;
      const std::size_t d = range < kept_before ? range : range + together.size();
      if (e.kind == Kind::newaxis) ++range;
      if (e.kind == Kind::newaxis) continue;
      std::int64_t i = e.integer;
      if (e.kind == Kind::range) i = kept[range++][static_cast<std::size_t>(at[d])];
      if (e.kind == Kind::positions) {
        i = e.positions[broadcast_position(at, kept_before, together.size(), e.shape)];
      }
      element = element * shape[axis] + (i < 0 ? i + shape[axis] : i);
      ++axis;
    }
    model.at.push_back(element);
    for (std::size_t d = result.size(); d-- > 0 && ++at[d] == result[d];) at[d] = 0;
  }
  return model;
}

/// Entries for an array of this shape, at most 4, of which 1 to 3 are arrays.
inline std::vector<Entry> drawn_entries(Random& random, const Ints& shape, bool is_unsigned) {
  using Kind = Entry::Kind;
  for (;;) {
    std::vector<Entry> entries;
    std::size_t axis = 0, arrays = 0;
    bool has_dots = false;
    Ints together;
    for (auto r = random.between(0, 3); r > 0; --r) together.push_back(random.between(0, 4));
    while (axis < shape.size() && entries.size() < 4) {
      const std::int64_t n = shape[axis], kind = random.between(0, 9);
      if (kind == 0) {
        entries.push_back(Entry{.kind = Kind::newaxis});
        continue;
      }
      if (kind == 1 && !has_dots) {
        has_dots = true;
        entries.push_back(Entry{.kind = Kind::ellipsis});
        axis += std::size_t(random.between(0, 1));
        continue;
      }
      if (kind < 4 && n > 0) {
        entries.push_back(Entry{.kind = Kind::integer, .integer = random.between(-n, n - 1)});
      } else if (kind < 6 || arrays == 3) {
        entries.push_back(Entry{.kind = Kind::range, .range = random.range(n)});
      } else {
        Entry e{.kind = Kind::positions};
        const auto from = random.between(0, std::int64_t(together.size()));
        e.shape.assign(together.begin() + from, together.end());
        for (std::int64_t& extent : e.shape) extent = random.between(0, 3) ? extent : 1;
        for (std::size_t k = Host<char>(e.shape).count(); k > 0 && n > 0; --k) {
          e.positions.push_back(random.between(is_unsigned ? 0 : -n, n - 1));
        }
        if (n == 0 && Host<char>(e.shape).count() > 0) continue;
        ++arrays;
        entries.push_back(std::move(e));
      }
      ++axis;
    }
    // the ellipsis may have moved entries to other axes
    if (arrays > 0 && !has_dots) return entries;
    if (arrays == 0 || entries.back().kind == Kind::ellipsis) {
      if (arrays > 0) return entries;
      continue;
    }
    const auto behind = std::count_if(entries.begin(), entries.end(), [](const Entry& e) {
      return e.kind != Kind::newaxis && e.kind != Kind::ellipsis;
    });
    if (std::size_t(behind) == shape.size()) return entries;
  }
}

/// Entries with masks for an array of this shape, any number of them; arrays broadcast together.
inline std::vector<Entry> drawn_list(Random& random, const Ints& shape) {
  using Kind = Entry::Kind;
  const std::int64_t n = random.between(0, 3);
  const auto drawn_mask = [&](const Ints& extents) {
    Entry e{.kind = Kind::mask, .shape = extents};
    const auto count = std::int64_t(Host<char>(extents).count());
    for (std::int64_t k = 0; k < count; ++k) e.positions.push_back(0);
    const std::int64_t trues = random.coin() ? n : 1;
    for (std::int64_t k = 0; k < trues && k < count; ++k) {
      auto at = std::size_t(random.between(0, count - 1));
      while (e.positions[at] != 0) at = (at + 1) % std::size_t(count);
      e.positions[at] = 1;
    }
    return e;
  };
  for (;;) {
    std::vector<Entry> entries;
    std::size_t axis = 0;
    Ints together{random.between(1, 2), n};
    while (axis < shape.size() && random.between(0, 5)) {
      const std::int64_t extent = shape[axis], kind = random.between(0, 9);
      const auto axes = std::size_t(random.between(1, 3));
      if (kind < 4 && axis + axes <= shape.size()) {
        const auto from = shape.begin() + std::ptrdiff_t(axis);
        entries.push_back(drawn_mask(Ints(from, from + std::ptrdiff_t(axes))));
        axis += axes;
        continue;
      }
      Entry e{.kind = Kind::range, .range = random.range(extent)};
      if (kind < 6 && extent > 0) e = {Kind::integer, random.between(-extent, extent - 1)};
      if (kind > 7 && extent > 0) {
        e = {.kind = Kind::positions, .shape = together};
        if (random.coin()) e.shape = {random.coin() ? n : 1};
        for (std::size_t k = Host<char>(e.shape).count(); k > 0; --k) {
          e.positions.push_back(random.between(-extent, extent - 1));
        }
      }
      entries.push_back(e);
      ++axis;
    }
    const auto insert = [&](const Entry& e) {
      const auto at = random.between(0, std::int64_t(entries.size()));
      entries.insert(entries.begin() + at, e);
    };
    if (!random.between(0, 5)) insert({Kind::newaxis});
    if (!random.between(0, 5)) insert(drawn_mask({}));
    if (axis == shape.size() && random.coin()) insert({Kind::ellipsis});
    try {  // a mask may have fewer elements than it should
      selected(shape, entries);
      return entries;
    } catch (const ShapeError&) {
    }
  }
}

}  // namespace quarry::test
