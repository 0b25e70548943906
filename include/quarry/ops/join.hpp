// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/joined_rows.hpp>
#include <quarry/ops/shape.hpp>

#include <tuple>

/// NumPy's joins. Parts are arrays in braces, a range of arrays or expressions, or, where their
/// types differ, a std::tuple of them: concatenate({a, b}), concatenate(std::tuple(a, b + 1), 1).
/// The result is a new array of the common type, in the stream of the first part. An expression is
/// computed where its elements belong, and every part is one kernel, or all are one where rows are
/// short. All throw ShapeError, with the
/// shapes, where parts do not fit, and for no parts.
namespace quarry {

namespace expr {

template <class P>
inline constexpr bool is_tuple = false;
template <class... A>
inline constexpr bool is_tuple<std::tuple<A...>> = true;
template <class R>
concept OperandRange = !Operand<R> && requires(const R& r) {
  { *r.begin() } -> Operand;
  r.end();
};
/// What can be joined.
template <class P>
concept Parts = is_tuple<P> || OperandRange<P>;

template <class P>
struct PartElement {
  using type = common_element_t<std::remove_cvref_t<decltype(*std::declval<const P&>().begin())>>;
};
template <class... A>
struct PartElement<std::tuple<A...>> {
  using type = common_element_t<std::remove_cvref_t<A>...>;
};
template <class P>
using part_element_t = typename PartElement<P>::type;

template <class P, class F>
void for_each_part(const P& parts, const F& f) {
  if constexpr (is_tuple<P>) {
    std::apply([&](const auto&... part) { (f(part), ...); }, parts);
  } else {
    for (const auto& part : parts) f(part);
  }
}

/// The shape of arrays one after the other along an axis. Throws ShapeError, with the shapes.
Shape joined_shape(std::span<const Shape> shapes, std::size_t axis);
/// What is known of the parts of a join before there is its result.
class Joined {
 public:
  /// A part that is seen as `seen`; its own layout is `layout`.
  void add(const Layout& layout, const Layout& seen, std::size_t itemsize, const Stream& stream);
  /// Shape, stream and order of the result along `axis`. Throws ShapeError.
  const Shape& along(std::int64_t axis);
  /// The same of all elements in one row.
  const Shape& in_a_row();
  ArrayOptions options() const;

 private:
  void require_parts() const;
  std::vector<Shape> shapes_;
  std::optional<Stream> stream_;
  bool is_fortran_ = true;
  Shape shape_;
};
template <class P>
Joined described(const P& parts, const ViewRule& rule) {
  Joined joined;
  for_each_part(parts, [&](const auto& part) {
    const Layout layout = quarry::detail::layout_of(part);
    joined.add(layout, rule(layout).layout, part.dtype().itemsize(), quarry::detail::home_of(part));
  });
  return joined;
}
/// The number of axes of the first part.
template <class P>
std::size_t rank_of(const P& parts) {
  std::optional<std::size_t> rank;
  for_each_part(parts, [&](const auto& part) { rank = rank.value_or(part.ndim()); });
  return rank.value_or(0);
}

/// The parts, each settled.
template <class P>
decltype(auto) settled_parts(const P& parts) {
  if constexpr (is_tuple<P>) {
    return std::apply(
        [](const auto&... part) {
          return std::tuple<decltype(settled(part))...>(settled(part)...);
        },
        parts);
  } else {
    using Part = std::remove_cvref_t<decltype(*parts.begin())>;
    if constexpr (is_settled<Part>) {
      return (parts);
    } else {
      std::vector<DeviceNDArray<typename Part::value_type>> made;
      for (const auto& part : parts) made.push_back(settled(part));
      return made;
    }
  }
}
/// Writes parts that are arrays of the result's elements. False as JoinedRows::write.
template <class T, class P>
bool write_joined(const DeviceNDArray<T>& result, const P& parts, std::size_t axis,
                  const ViewRule& rule) {
  if (!JoinedRows::has_rows(result, axis)) return false;
  JoinedRows rows(result, axis);
  bool are_arrays = true;
  for_each_part(parts, [&]<class A>(const A& part) {
    if constexpr (is_array_of<T, A>) {
      const auto seen = viewed(part, rule);
      rows.add(seen.ref(), 0, seen.shape()[axis]);
    } else {
      are_arrays = false;
    }
  });
  return are_arrays && rows.write();
}
/// The parts as `rule` shows them, one after the other along an axis.
template <class G>
auto join(const G& given, std::int64_t axis, const ViewRule& rule) {
  const auto& parts = settled_parts(given);
  using P = std::remove_cvref_t<decltype(parts)>;
  Joined joined = described(parts, rule);
  const Shape& shape = joined.along(axis);
  const std::size_t d = normalize_axis(axis, shape.size());
  const DeviceNDArray<part_element_t<P>> result(shape, joined.options());
  if (write_joined(result, parts, d, rule)) return result;
  std::int64_t at = 0;
  for_each_part(parts, [&](const auto& part) {
    const auto seen = viewed(part, rule);
    const Range place = range(at, at + seen.shape()[d]);
    viewed(result, [&](const Layout& l) { return shape_views::cut(l, axis, place); }).assign(seen);
    at += seen.shape()[d];
  });
  return result;
}
/// All elements in C order, one part after the other.
template <class G>
auto join_in_a_row(const G& given) {
  const auto& parts = settled_parts(given);
  using P = std::remove_cvref_t<decltype(parts)>;
  Joined joined = described(parts, [](const Layout& l) { return View{l}; });
  const DeviceNDArray<part_element_t<P>> result(joined.in_a_row(), joined.options());
  std::int64_t at = 0;
  for_each_part(parts, [&](const auto& part) {
    result(range(at, at + part.size())).reshape(part.shape()).assign(part);
    at += part.size();
  });
  return result;
}

}  // namespace expr

///@{
/// The parts one after the other along an axis, or without one (std::nullopt) all their elements in
/// one row.
template <expr::Parts P>
auto concatenate(const P& parts, std::optional<std::int64_t> axis = 0) {
  if (!axis) return expr::join_in_a_row(parts);
  return expr::join(parts, *axis, [](const Layout& l) { return View{l}; });
}
template <class T>
auto concatenate(std::initializer_list<DeviceNDArray<T>> parts,
                 std::optional<std::int64_t> axis = 0) {
  return concatenate<std::initializer_list<DeviceNDArray<T>>>(parts, axis);
}
///@}
///@{
/// Parts of one shape side by side along a new axis.
template <expr::Parts P>
auto stack(const P& parts, std::int64_t axis = 0) {
  return expr::join(parts, axis, [&](const Layout& l) {
    return shape_views::expand_dims(l, {&axis, 1});
  });
}
template <class T>
auto stack(std::initializer_list<DeviceNDArray<T>> parts, std::int64_t axis = 0) {
  return stack<std::initializer_list<DeviceNDArray<T>>>(parts, axis);
}
///@}
#define QUARRY_STACK(name, axis, rule)                                                    \
  /** np.name: the parts, seen with new axes where they have too few, joined. */          \
  template <expr::Parts P>                                                                \
  auto name(const P& parts) {                                                             \
    return expr::join(parts, axis, [](const Layout& l) { return shape_views::rule(l); }); \
  }                                                                                       \
  /** The same of arrays in braces. */                                                    \
  template <class T>                                                                      \
  auto name(std::initializer_list<DeviceNDArray<T>> parts) {                              \
    return name<std::initializer_list<DeviceNDArray<T>>>(parts);                          \
  }
QUARRY_STACK(hstack, shape_views::horizontal_axis(expr::rank_of(parts)), atleast_1d)
QUARRY_STACK(vstack, 0, atleast_2d)
QUARRY_STACK(dstack, 2, atleast_3d)
QUARRY_STACK(column_stack, 1, columns)
#undef QUARRY_STACK

/// The elements of `a`, then those of `values`, along an axis, or without one in a row. A number is
/// an array of its type, with one element, as in NumPy.
template <expr::Operand A, class V>
auto append(const A& a, const V& values, std::optional<std::int64_t> axis = std::nullopt) {
  if constexpr (expr::Operand<V>) {
    return concatenate(std::tie(a, values), axis);
  } else {
    return concatenate(std::tuple(a, array(values, {.stream = detail::home_of(a)})), axis);
  }
}

namespace expr {

/// A tree of blocks: an operand, or a list of trees.
template <class B>
consteval int block_depth() {
  if constexpr (Operand<B>) {
    return 0;
  } else if constexpr (is_tuple<B>) {
    return []<class... A>(std::type_identity<std::tuple<A...>>) {
      constexpr int depths[] = {block_depth<std::remove_cvref_t<A>>()...};
      for (const int depth : depths) {
        if (depth != depths[0]) return -1000;  // lists of different depths
      }
      return 1 + depths[0];
    }(std::type_identity<B>());
  } else {
    return 1 + block_depth<std::remove_cvref_t<decltype(*std::declval<const B&>().begin())>>();
  }
}
template <class B>
struct BlockElement;
template <Operand B>
struct BlockElement<B> {
  using type = B;
};
template <class B>
requires(!Operand<B> && !is_tuple<B>) struct BlockElement<B>
    : BlockElement<std::remove_cvref_t<decltype(*std::declval<const B&>().begin())>> {
};
/// An array that has the common type of others; only its value_type is used.
template <class T>
struct OfType {
  using value_type = T;
};
template <class... A>
struct BlockElement<std::tuple<A...>> {
  using type = OfType<common_element_t<typename BlockElement<std::remove_cvref_t<A>>::type...>>;
};

/// Walks a tree of blocks twice: for shapes, then with the places of the blocks in the result.
class Blocks {
 public:
  explicit Blocks(int depth) : depth_(std::size_t(depth)) {}
  template <class B>
  void measure(const B& block) {
    if constexpr (Operand<B>) {
      rank_ = std::max(rank_, block.ndim());
      if (!stream_) stream_ = quarry::detail::home_of(block);
    } else {
      for_each_part(block, [&](const auto& part) { measure(part); });
    }
  }
  std::size_t rank() const { return std::max(rank_, depth_); }
  const std::optional<Stream>& stream() const { return stream_; }

  /// The shape of a block `level` lists down.
  template <class B>
  Shape shape_of(const B& block, std::size_t level = 0) const {
    if constexpr (Operand<B>) {
      Shape shape = block.shape();
      while (shape.size() < rank()) shape.insert(0, 1);
      return shape;
    } else {
      std::vector<Shape> shapes;
      for_each_part(block, [&](const auto& part) { shapes.push_back(shape_of(part, level + 1)); });
      return joined_shape(shapes, axis(level));
    }
  }
  template <class T, class B>
  void write(const DeviceNDArray<T>& to, const B& block, std::size_t level = 0) const {
    if constexpr (Operand<B>) {
      to.assign(block);
    } else {
      std::int64_t at = 0;
      for_each_part(block, [&](const auto& part) {
        const std::int64_t extent = shape_of(part, level + 1)[axis(level)];
        const Range place = range(at, at + extent);
        const auto cut = [&](const Layout& l) {
          return shape_views::cut(l, std::int64_t(axis(level)), place);
        };
        write(viewed(to, cut), part, level + 1);
        at += extent;
      });
    }
  }

 private:
  /// Of the innermost lists the last one.
  std::size_t axis(std::size_t level) const { return rank() - depth_ + level; }
  std::size_t depth_, rank_ = 0;
  std::optional<Stream> stream_;
};

}  // namespace expr

///@{
/// A matrix of blocks, or of lists of them to any depth: block({{a, b}, {c, d}}); where types
/// differ std::tuple(std::tuple(a, b), std::tuple(c, d)). The innermost lists are joined along the
/// last axis.
template <class B>
requires(expr::is_tuple<B> || std::ranges::range<const B>) auto block(const B& blocks) {
  constexpr int depth = expr::block_depth<B>();
  static_assert(depth > 0, "the lists of blocks have different depths");
  using T = std::remove_const_t<typename expr::BlockElement<B>::type::value_type>;
  expr::Blocks tree(depth);
  tree.measure(blocks);
  const DeviceNDArray<T> result(tree.shape_of(blocks), ArrayOptions{.stream = tree.stream()});
  tree.write(result, blocks);
  return result;
}
template <class T>
auto block(std::initializer_list<DeviceNDArray<T>> blocks) {
  return block<std::initializer_list<DeviceNDArray<T>>>(blocks);
}
template <class T>
auto block(std::initializer_list<std::initializer_list<DeviceNDArray<T>>> blocks) {
  return block<std::initializer_list<std::initializer_list<DeviceNDArray<T>>>>(blocks);
}
///@}

}  // namespace quarry
