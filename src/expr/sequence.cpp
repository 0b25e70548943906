// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/expr/sequence.hpp>

#include <fmt/format.h>

#include <cmath>

namespace quarry::expr {

std::int64_t arange_length(double start, double stop, double step) {
  const double length = std::ceil((stop - start) / step);
  require<ShapeError>(step != 0 && std::isfinite(length) && length < 0x1p63, [&] {
    return fmt::format("arange from {} to {} in steps of {} has no length", start, stop, step);
  });
  return length > 0 ? static_cast<std::int64_t>(length) : 0;
}

namespace {

/// The number of whole steps that start below `distance`; `text` says what was asked for.
std::int64_t steps_in(std::uint64_t distance, std::uint64_t step, const auto& text) {
  const std::uint64_t length = distance == 0 ? 0 : (distance - 1) / step + 1;
  require<SizeOverflow>(length <= std::uint64_t{1} << 62,
                        [&] { return fmt::format("{} has {} elements", text(), length); });
  return static_cast<std::int64_t>(length);
}

}  // namespace

std::int64_t arange_length(std::int64_t start, std::int64_t stop, std::int64_t step) {
  const auto text = [&] {
    return fmt::format("arange from {} to {} in steps of {}", start, stop, step);
  };
  require<ShapeError>(step != 0, [&] { return text() + " has no length"; });
  if (step > 0 ? stop <= start : stop >= start) return 0;
  const auto a = static_cast<std::uint64_t>(start), b = static_cast<std::uint64_t>(stop);
  const auto s = static_cast<std::uint64_t>(step);
  return step > 0 ? steps_in(b - a, s, text) : steps_in(a - b, 0 - s, text);
}

std::int64_t arange_length(std::uint64_t start, std::uint64_t stop, std::uint64_t step) {
  const auto text = [&] {
    return fmt::format("arange from {} to {} in steps of {}", start, stop, step);
  };
  require<ShapeError>(step != 0, [&] { return text() + " has no length"; });
  return stop <= start ? 0 : steps_in(stop - start, step, text);
}

std::int64_t linspace_count(std::int64_t count) {
  require<ShapeError>(count >= 0, [&] { return fmt::format("linspace of {} values", count); });
  return count;
}

void require_holds(DType type, double value) {
  const bool is_signed = type.kind() == Kind::signed_integer;
  const int bits = static_cast<int>(8 * type.itemsize()) - (is_signed ? 1 : 0);
  const double whole = std::trunc(value);
  const double limit = std::ldexp(1., bits);  // the first number above
  if (!(whole >= (is_signed ? -limit : 0) && whole < limit)) {
    quarry::detail::throw_out_of_range(fmt::format("{}", value), type);
  }
}

void require_pair_of_bools(std::int64_t count) {
  require<DTypeError>(count <= 2,
                      [&] { return fmt::format("an arange of {} bools: there are two", count); });
}

}  // namespace quarry::expr
