// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "array/model.hpp"

/// Indices with arrays of positions among their entries, known at run time, and which elements
/// they select by NumPy's documentation.
namespace quarry::test {

/// An entry as a test sees it.
struct Entry {
  enum class Kind { integer, range, newaxis, ellipsis, positions } kind;
  std::int64_t integer = 0;
  Range range = {_, _, 1};
  Ints shape = {}, positions = {};  ///< of an array, in C order
};

/// Calls `f` with the entries as an index has them, arrays of `I`.
template <class I, class F, class... Done>
void with_entries(const std::vector<Entry>& entries, const F& f, const Done&... done) {
  if (sizeof...(done) == entries.size()) {
    constexpr std::size_t arrays = (0 + ... + std::size_t{!std::is_same_v<Done, Index>});
    if constexpr (arrays > 0) f(done...);
    return;
  }
  if constexpr (sizeof...(done) < 4) {
    const Entry& entry = entries[sizeof...(done)];
    switch (entry.kind) {
      case Entry::Kind::integer:
        return with_entries<I>(entries, f, done..., Index(entry.integer));
      case Entry::Kind::range:
        return with_entries<I>(entries, f, done..., Index(entry.range));
      case Entry::Kind::newaxis:
        return with_entries<I>(entries, f, done..., Index(newaxis));
      case Entry::Kind::ellipsis:
        return with_entries<I>(entries, f, done..., Index(ellipsis));
      case Entry::Kind::positions:
        break;
    }
    Host<I> host(entry.shape);
    for (std::size_t k = 0; k < host.count(); ++k) host[k] = static_cast<I>(entry.positions[k]);
    with_entries<I>(entries, f, done..., to_device(host));
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

/// The elements of an array of this shape that an index selects, by their numbers in C order.
inline Model selected(const Ints& shape, std::vector<Entry> entries) {
  using Kind = Entry::Kind;
  std::size_t named = 0;
  for (const Entry& e : entries) {
    named += e.kind != Kind::newaxis && e.kind != Kind::ellipsis;
  }
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
    if (e.kind == Kind::positions) {
      const Shape both = broadcast_shapes(as_shape(together), as_shape(e.shape));
      together.assign(both.begin(), both.end());
    }
    if (e.kind != Kind::positions && e.kind != Kind::integer) continue;
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
    axis += e.kind != Kind::newaxis;
  }
  for (const Ints& list : kept) result.push_back(std::int64_t(list.size()));
  result.insert(result.begin() + std::int64_t(kept_before), together.begin(), together.end());

  Model model{result, {}};
  Ints at(result.size(), 0);
  for (std::size_t n = Host<char>(result).count(); n > 0; --n) {
    std::int64_t element = 0;
    std::size_t axis = 0, range = 0;
    for (const Entry& e : entries) {
      if (e.kind == Kind::ellipsis) continue;
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

}  // namespace quarry::test
