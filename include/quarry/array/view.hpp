// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <concepts>
#include <cstdint>
#include <span>

/// Index entries: integers, ranges with any step, `all`, `newaxis`, `ellipsis`. Indexing returns
/// views; nothing is copied or launched.
namespace quarry {

/// An open end of a range, as in Python's slices:  range(2, _) is 2:  and range(_, -2) is
/// :-2.
struct Unbounded {};
inline constexpr Unbounded _{};  ///< an open end of a range

struct All {};       ///< the type of `all`
struct NewAxis {};   ///< the type of `newaxis`
struct Ellipsis {};  ///< the type of `ellipsis`

/// One bound of a range.
struct Bound {
  constexpr Bound(Unbounded) {}  ///< not given
  /// A position; negative ones count from the end.
  template <Integer I>
  constexpr Bound(I v) : value(Extent(v).value), given(true) {}
  std::int64_t value = 0;  ///< the position
  bool given = false;      ///< whether there is one
};

/// start:stop:step of NumPy: negative values count from the end, values outside are clipped.
struct Range {
  Bound start;  ///< the first position
  Bound stop;   ///< past the last position
  Bound step;   ///< from one position to the next; 1 if not given
};
///@{
/// range(start, stop, step) is start:stop:step, range(stop) is :stop.
constexpr Range range(Bound start, Bound stop, Bound step = 1) { return {start, stop, step}; }
constexpr Range range(Bound stop) { return {_, stop, 1}; }
///@}

/// One entry of an index.
struct Index {
  /// What an entry does with its axis.
  enum class Kind : char { integer, range, newaxis, ellipsis };
  ///@{
  /// Implicit: `a(1, range(2, 5), all)`.
  template <Integer I>
  constexpr Index(I i) : kind(Kind::integer), range{i, i, 1} {}
  constexpr Index(const Range& r) : kind(Kind::range), range(r) {}
  constexpr Index(All) : kind(Kind::range), range{_, _, 1} {}
  constexpr Index(NewAxis) : kind(Kind::newaxis), range{_, _, 1} {}
  constexpr Index(Ellipsis) : kind(Kind::ellipsis), range{_, _, 1} {}
  ///@}
  Kind kind;    ///< what it is
  Range range;  ///< for an integer only its start is used
};
// After Index: else -Wshadow warns that its enumerators hide these.
inline constexpr All all{};            ///< a whole axis, Python's colon
inline constexpr NewAxis newaxis{};    ///< a new axis of extent 1
inline constexpr Ellipsis ellipsis{};  ///< all axes that have no entry, Python's ...

/// A layout and the offset of its element 0 from element 0 of the viewed array.
struct View {
  Layout layout;            ///< shape and strides
  std::int64_t offset = 0;  ///< in bytes
};

/// A function from layouts to views, which is not owned.
class ViewRule {
 public:
  /// `f(layout)` is a View.
  template <class F>
  requires(!std::same_as<F, ViewRule>) ViewRule(const F& f)
      : function_(&f), call_([](const void* function, const Layout& layout) {
          return (*static_cast<const F*>(function))(layout);
        }) {}
  View operator()(const Layout& layout) const { return call_(function_, layout); }  ///< f(layout)

 private:
  const void* function_;
  View (*call_)(const void*, const Layout&);
};

/// The view that an index selects. Axes without an entry are taken whole. Throws IndexError with
/// the value and the extent for an integer outside its axis, too many entries, a second ellipsis,
/// or a step of 0.
View index(const Layout& layout, std::span<const Index> entries);

///@{
/// NumPy's transpose: axis d of the result is axis axes[d]; without axes they are reversed.
Layout transpose(const Layout& layout);
Layout transpose(const Layout& layout, std::span<const std::int64_t> axes);
///@}
///@{
/// Without the axes of extent 1, or without the given ones, which must have extent 1.
Layout squeeze(const Layout& layout);
Layout squeeze(const Layout& layout, std::span<const std::int64_t> axes);
///@}
/// Without one axis, of extent 1; a layout without axes has the axes 0 and -1 here, too.
Layout squeeze_axis(const Layout& layout, std::int64_t axis);
/// The memory of elements of one size as elements of another, by NumPy's rules: the last axis
/// becomes longer or shorter, and must be dense. Throws ShapeError, with the sizes.
View items(const Layout& layout, std::size_t from, std::size_t to);

}  // namespace quarry
