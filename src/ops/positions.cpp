// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/positions.hpp>
#include <quarry/ops/reduce.hpp>
#include <quarry/ops/select.hpp>
#include <quarry/ops/take.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "expr/host_word.hpp"
#include "expr/kernel_inputs.hpp"
#include "memory/graph_memory.hpp"
#include "ops/with_positions.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::expr {
namespace {

/// A position outside that a launch of a graph has found, which is never 0.
template <class Wide>
class FoundPosition final : public quarry::detail::LaunchCheck {
 public:
  FoundPosition(const Stream& captured, std::function<void(Wide)> refuse)
      : word_(captured), refuse_(std::move(refuse)) {}
  const DeviceNDArray<std::int64_t>& word() const { return word_.array(); }
  void rethrow() override {
    if (const std::int64_t found = word_.take()) refuse_(static_cast<Wide>(found));
  }

 private:
  GraphWord word_;
  std::function<void(Wide)> refuse_;
};

/// Any value of an integer or bool T.
template <class T>
using WideOf = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

/// What is outside of [low, high), and how it is refused.
template <class Refuse>
struct Bounds {
  std::int64_t low, high;
  Refuse refuse;

  auto is_outside(const auto& position) const { return (position < low) | (position >= high); }
};

template <class Refuse>
Bounds(std::int64_t, std::int64_t, Refuse) -> Bounds<Refuse>;

/// The first one that is outside is left for the host.
template <class Wide, class T, class Refuse>
void check_in_graph(const DeviceNDArray<const T>& positions, const Bounds<Refuse>& bounds) {
  if (bounds.low >= bounds.high)
    bounds.refuse(Wide{0});  // each is outside: it is not told from none
  const Stream& stream = quarry::detail::stream_for(positions);
  quarry::detail::require_checked_launches(stream.state());
  auto found = std::make_unique<FoundPosition<Wide>>(stream, bounds.refuse);
  const DeviceNDArray<std::int64_t> word = found->word();
  quarry::detail::check_launches(stream.state(), std::move(found));
  const auto flat = positions.ravel();
  const auto first = take<IndexMode::wrap>(flat, eval(argmax(bounds.is_outside(flat))));
  assign_where(word, as_tree(bounds.is_outside(first)), as_tree(astype<std::int64_t>(first)));
}

/// How many positions are outside, in a word for the host and in one of the device's.
template <class T, class Refuse>
class PositionCheck final : public quarry::detail::QueuedCheck {
 public:
  PositionCheck(const DeviceNDArray<const T>& positions, const Bounds<Refuse>& bounds)
      : positions_(positions), bounds_(bounds) {}

  const void* word(const Stream& stream) const override {
    if (stream.state().is_captured()) return nullptr;  // require() finds out
    queue(stream);
    if (const void* const word = word_in(stream)) return word;
    require();
    return nullptr;
  }
  void* place(const Stream& stream, const void* first, std::int64_t count,
              void** word) const override {
    if (first != positions_.address() || count != positions_.size()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (count_) return nullptr;
    if (word) {
      next_word_ = DeviceNDArray<std::int64_t>({1}, stream);
      *word = next_word_.address();
    }
    count_ = std::make_shared<const HostWord>(stream);
    return count_->array().address();
  }
  void launched() const override {
    const std::lock_guard lock(mutex_);
    word_ = next_word_;
  }
  void require() const override {
    const Stream& stream = quarry::detail::stream_for(positions_);
    if (stream.state().is_captured()) return check_in_graph<WideOf<T>>(positions_, bounds_);
    std::int64_t found = queue(stream)->wait();
    if (found < 0) {  // the kernel that was to make the check was not launched
      forget();
      found = queue(stream)->wait();
    }
    if (found == 0) return;
    const auto flat = positions_.ravel();
    const auto first = WideOf<T>(flat(argmax(bounds_.is_outside(flat)).item()).item());
    const bool is_there =
        std::cmp_less(first, bounds_.low) || std::cmp_greater_equal(first, bounds_.high);
    if (is_there) bounds_.refuse(first);
    throw IndexError("a position that was outside of its axis has been overwritten since");
  }

 private:
  const void* word_in(const Stream& stream) const {
    const std::lock_guard lock(mutex_);
    return count_ && count_->array().stream() == stream ? word_.address() : nullptr;
  }
  void forget() const {
    const std::lock_guard lock(mutex_);
    count_.reset();
  }
  std::shared_ptr<const HostWord> queue(const Stream& stream) const {
    const std::lock_guard lock(mutex_);
    if (count_) return count_;
    const auto count = std::make_shared<const HostWord>(stream);
    const DeviceNDArray<std::int64_t> word({1}, stream);
    using Count = results::total<bool>;
    const Then<kernels::left_at, std::int64_t> left{reinterpret_cast<std::int64_t>(word.address())};
    reduce_tree<kernels::sum_of, Count::accumulator, Count::type>(
        as_tree(bounds_.is_outside(positions_)), {}, {}, false, nullptr, left, &count->array());
    word_ = word;
    return count_ = count;
  }

  DeviceNDArray<const T> positions_;
  Bounds<Refuse> bounds_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const HostWord> count_;  ///< once the check is a kernel's
  /// What that leaves for the stream; the next one once it is launched.
  mutable DeviceNDArray<std::int64_t> word_, next_word_;
};

/// Refuses the first position that is outside, or, if there are many on a GPU, leaves that to the
/// check that is returned.
template <class T, class Refuse>
std::shared_ptr<const quarry::detail::QueuedCheck> checked(const DeviceNDArray<const T>& positions,
                                                           const Bounds<Refuse>& bounds,
                                                           bool can_be_queued) {
  constexpr std::int64_t many = 1024;
  if (positions.empty()) return nullptr;
  if (quarry::detail::stream_for(positions).state().is_captured()) {
    check_in_graph<WideOf<T>>(positions, bounds);
    return nullptr;
  }
  const bool is_queued = can_be_queued && positions.size() >= many && !positions.device().is_cpu();
  auto check = std::make_shared<const PositionCheck<T, Refuse>>(positions, bounds);
  if (is_queued) return check;
  check->require();
  return nullptr;
}

template <class Refuse>
std::shared_ptr<const quarry::detail::QueuedCheck> checked(const DeviceNDArrayBase& positions,
                                                           const Bounds<Refuse>& bounds,
                                                           bool can_be_queued) {
  std::shared_ptr<const quarry::detail::QueuedCheck> check;
  with_positions(positions, [&](const auto& p) { check = checked(p, bounds, can_be_queued); });
  return check;
}

/// Finds the axes of positions among the entries, and where NumPy puts the axes of the result.
class SideAxes {
 public:
  SideAxes(const Layout& array, const View& view, std::size_t whole)
      : array_(array), view_(view), whole_(whole) {}

  void add(const Index& entry, bool positions) {
    if (!begin(entry, positions)) return;
    if (positions)
      add_own();
    else
      ++axis_;
  }
  void add_mask(const Shape& mask) {
    begin(all, true);
    for (const std::int64_t extent : mask) {
      require_mask_extent(extent, array_.shape[axis_], axis_);
      add_own();
    }
  }
  void add_rest() {
    if (viewed_ < view_.layout.rank()) keep(view_.layout.rank() - viewed_, false);
  }
  SideView finish(std::size_t axes_in_place) {
    const std::size_t at = is_split_ || place_ == none ? 0 : place_;
    for (std::size_t k = 0; k < axes_in_place; ++k) {
      kept_.shape.insert(at, 1);
      kept_.strides.insert(at, 0);
    }
    side_.behind = kept_.rank() - axes_in_place - at;
    if (side_.is_empty()) kept_.strides.assign(kept_.rank(), 0);
    side_.window = {std::move(kept_), view_.offset};
    return std::move(side_);
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  /// Keeps the axes of an entry that has no positions; else true.
  bool begin(const Index& entry, bool positions) {
    if (!positions && entry.kind != Index::Kind::integer) {
      is_apart_ = is_apart_ || place_ != none;
      keep(entry.kind == Index::Kind::ellipsis ? whole_ : 1, entry.kind == Index::Kind::newaxis);
      return false;
    }
    is_split_ = is_split_ || is_apart_;
    if (place_ == none) place_ = kept_.rank();
    return true;
  }
  void add_own() {
    side_.own.push_back({array_.shape[axis_], array_.strides[axis_]});
    side_.axes.push_back(axis_++);
    ++viewed_;
  }
  void keep(std::size_t axes, bool is_new) {
    for (std::size_t k = 0; k < axes; ++k, ++viewed_) {
      kept_.shape.push_back(view_.layout.shape[viewed_]);
      kept_.strides.push_back(view_.layout.strides[viewed_]);
    }
    if (!is_new) axis_ += axes;
  }

  const Layout& array_;
  const View& view_;
  std::size_t whole_, axis_ = 0, viewed_ = 0, place_ = none;
  Layout kept_;
  SideView side_;
  bool is_apart_ = false, is_split_ = false;
};

Shape broadcast_positions(std::span<const SideEntry> entries) {
  Shape shape;
  try {
    for (const SideEntry& entry : entries) {
      if (entry.positions) shape = broadcast_shapes(shape, entry.positions->shape());
    }
  } catch (const ShapeError&) {
    std::string shapes;
    for (const SideEntry& entry : entries) {
      if (entry.positions) shapes += " " + to_string(entry.positions->shape());
    }
    throw IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes" +
                     shapes);
  }
  return shape;
}

bool takes_axis(const Index& entry) {
  return entry.kind == Index::Kind::integer || entry.kind == Index::Kind::range;
}

}  // namespace

void require_mask_extent(std::int64_t of_mask, std::int64_t of_array, std::size_t axis) {
  require<IndexError>(of_mask == of_array || of_mask == 0, [&] {
    return fmt::format(
        "boolean index did not match indexed array along axis {}; size of axis is {} but size of "
        "corresponding boolean axis is {}",
        axis, of_array, of_mask);
  });
}

bool SideView::is_empty() const {
  return std::ranges::any_of(own, [](const auto& axis) { return axis.extent == 0; });
}

SideView side_view(const DeviceNDArrayBase& array, std::int64_t axis, std::size_t axes_in_place) {
  const Layout& layout = array.layout();
  const std::size_t own = normalize_axis(axis, layout.rank());
  const View whole{layout, 0};
  SideAxes axes(layout, whole, 0);
  for (std::size_t d = 0; d < layout.rank(); ++d) axes.add(all, d == own);
  return axes.finish(axes_in_place);
}

SideView side_view(const DeviceNDArrayBase& array, std::span<const SideEntry> entries) {
  std::vector<Index> plain;
  for (const SideEntry& entry : entries) {
    plain.insert(plain.end(), entry.mask ? entry.mask->size() : 1, entry.index);
  }
  const View view = index(array.layout(), plain);
  const auto named = static_cast<std::size_t>(std::ranges::count_if(plain, takes_axis));
  SideAxes axes(array.layout(), view, array.ndim() - named);
  const Shape broadcast = broadcast_positions(entries);
  for (const auto& [entry, positions, mask] : entries) {
    if (mask)
      axes.add_mask(*mask);
    else
      axes.add(entry, positions);
  }
  axes.add_rest();
  SideView side = axes.finish(broadcast.size());
  require_elements(side, broadcast);
  const bool are_some = element_count(broadcast) > 0;
  std::size_t n = 0;
  for (const auto& [entry, positions, mask] : entries) {
    const bool is_integer = positions && !mask && positions->ndim() == 0;
    if (is_integer || (are_some && positions && !mask)) check_inside(*positions, side, n);
    if (positions) n += mask ? mask->size() : 1;
  }
  return side;
}

bool has_aligned_elements(const DeviceNDArrayBase& array) { return is_aligned(array); }

void require_elements(const SideView& side, const Shape& positions) {
  for (std::size_t n = 0; n < side.own.size(); ++n) {
    require<IndexError>(side.own[n].extent > 0 || element_count(positions) == 0, [&] {
      return fmt::format("positions of shape {} on axis {} of extent 0", to_string(positions),
                         side.axes[n]);
    });
  }
}

void check_inside(const DeviceNDArrayBase& positions, SideView& side, std::size_t n) {
  const std::int64_t extent = side.own[n].extent;
  const auto refuse = [extent, axis = side.axes[n]](auto position) {
    throw IndexError(
        fmt::format("position {} is outside of axis {} of extent {}", position, axis, extent));
  };
  auto check = checked(positions, Bounds{-extent, extent, refuse}, true);
  if (!check) return;
  if (side.check) side.check->require();  // one word of the device is all that a kernel looks at
  side.check = std::move(check);
}

void require_choices(const DeviceNDArrayBase& positions, std::int64_t count) {
  const auto refuse = [=](auto position) {
    throw IndexError(fmt::format("choice {} of {}", position, count));
  };
  checked(positions, Bounds{0, count, refuse}, false);
}

Shape shape_of_turns(const Shape& positions, const Shape& written) {
  if (element_count(written) == 0) return written;
  Shape turns = positions;
  std::size_t first = 0, end = turns.size();
  while (first < end && turns[first] == 1) ++first;
  while (end > first && turns[end - 1] == 1) --end;
  for (std::size_t d = first; d < end; ++d) turns[d] = written[d];
  return turns;
}

void require_same_rank(const Shape& positions, const Shape& array) {
  require<ShapeError>(positions.size() == array.size(), [&] {
    return fmt::format("positions of shape {} along an axis of an array of shape {}",
                       to_string(positions), to_string(array));
  });
}

}  // namespace quarry::expr
