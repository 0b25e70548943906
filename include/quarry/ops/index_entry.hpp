// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>
#include <quarry/ops/positions.hpp>

#include <optional>

/// Indices with masks, and lists of entries that are known only at run time.
namespace quarry {

/// An entry of an index, of any kind: a(entries) of a list of them, as a std::vector<IndexEntry>,
/// is a(entries...), an expression and a place. Its arrays are read when the index is made.
struct IndexEntry {
  /// An integer, a range, `all`, `newaxis` or `ellipsis`.
  template <std::convertible_to<Index> I>
  IndexEntry(const I& entry) : index(entry) {}
  /// A mask without axes: a new axis, of extent 1 or 0.
  template <std::same_as<bool> B>
  IndexEntry(B value) : truth(value) {}
  /// Positions or a mask. An expression is evaluated now.
  template <detail::OnDevice A>
  IndexEntry(const A& entry) : array(UntypedNDArray(eval(entry))) {
    constexpr Kind kind = dtype_of<typename A::value_type>.kind();
    static_assert(kind == Kind::boolean || detail::is_integer(kind),
                  "an index array has integers, or bools if it is a mask");
  }

  ///@{
  /// What it is: one of these, an index if there is no other one.
  Index index = all;
  std::optional<bool> truth;
  std::optional<UntypedNDArray> array;
  ///@}
};

namespace expr {

/// An index whose positions, together, are those along one axis. Their axes stand where NumPy has
/// them; there are `side.behind` more behind them.
struct ListedView {
  SideView side;
  DeviceNDArray<const std::int64_t> positions;
};
/// Checks positions as side_view; waits for the number of elements of masks.
ListedView listed_view(const DeviceNDArrayBase& array, std::span<const IndexEntry> entries);

}  // namespace expr
}  // namespace quarry
