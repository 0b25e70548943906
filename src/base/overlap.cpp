// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quarry {

namespace {

// Sums of two arrays' offsets need more than 64 bits.
__extension__ using Wide = __int128;

/// Is there a solution of  sum coefficient[k] * x[k] == target,  0 <= x[k] <= limit[k]?
/// All coefficients are positive. This is what NumPy's solve_may_share_memory asks; its
/// mem_overlap.c has the proof that the question is NP-hard, hence the bounded work.
class Equation {
 public:
  void add(Wide coefficient, Wide limit) {
    if (limit == 0) return;
    for (std::size_t i = 0; i < size_; ++i)
      if (terms_[i].coefficient == coefficient) {
        terms_[i].limit += limit;
        return;
      }
    terms_[size_++] = {coefficient, limit, 0, 0};
  }

  Overlap solve(Wide target, std::int64_t max_work) {
    std::sort(terms_.begin(), terms_.begin() + size_,
              [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    Wide divisor = 0;
    Wide reach = 0;
    for (std::size_t i = size_; i-- > 0;) {
      terms_[i].divisor = divisor = gcd(divisor, terms_[i].coefficient);
      terms_[i].reach = reach += terms_[i].coefficient * terms_[i].limit;
    }
    work_left_ = max_work;
    return search(0, target);
  }

 private:
  struct Term {
    Wide coefficient;
    Wide limit;
    /// Of this and all smaller terms: the greatest common divisor, and the largest sum.
    Wide divisor;
    Wide reach;
  };

  static Wide gcd(Wide a, Wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a;
  }

  /// The smallest x >= 0 with a * x == target (mod m), given that gcd(a, m) divides target.
  static Wide congruent(Wide a, Wide target, Wide m) {
    const Wide divisor = gcd(a, m);
    a /= divisor, m /= divisor, target /= divisor;
    Wide inverse = 0, next = 1;
    for (Wide r = m, s = a % m; s != 0;) {
      const Wide quotient = r / s;
      r = std::exchange(s, r - quotient * s);
      inverse = std::exchange(next, inverse - quotient * next);
    }
    return ((target % m) * (inverse % m) % m + m) % m;
  }

  Overlap search(std::size_t first, Wide target) {
    if (target == 0) return Overlap::overlapping;
    if (first == size_ || target < 0 || target > terms_[first].reach) return Overlap::disjoint;
    const Term& term = terms_[first];
    if (target % term.divisor != 0) return Overlap::disjoint;
    if (first + 1 == size_) return Overlap::overlapping;

    const Term& rest = terms_[first + 1];
    const Wide step = rest.divisor / term.divisor;
    const Wide excess = target - rest.reach;
    const Wide least = excess <= 0 ? 0 : (excess + term.coefficient - 1) / term.coefficient;
    const Wide most = std::min(term.limit, target / term.coefficient);
    const Wide residue = congruent(term.coefficient, target, rest.divisor);
    Wide x = residue + (least <= residue ? 0 : (least - residue + step - 1) / step * step);
    for (; x <= most; x += step) {
      if (work_left_-- <= 0) return Overlap::unknown;
      const Overlap found = search(first + 1, target - term.coefficient * x);
      if (found != Overlap::disjoint) return found;
    }
    return Overlap::disjoint;
  }

  std::array<Term, 2 * max_rank + 2> terms_;
  std::size_t size_ = 0;
  std::int64_t work_left_ = 0;
};

Wide magnitude(std::int64_t stride) { return stride < 0 ? -Wide(stride) : Wide(stride); }

void add_axes(Equation& equation, const Layout& layout) {
  for (std::size_t i = 0; i < layout.rank(); ++i)
    if (layout.strides[i] != 0) equation.add(magnitude(layout.strides[i]), layout.shape[i] - 1);
}

}  // namespace

Overlap overlap(const std::byte* a, const Layout& layout_a, std::size_t itemsize_a,
                const std::byte* b, const Layout& layout_b, std::size_t itemsize_b,
                std::int64_t max_work) {
  const ByteBounds bounds_a = byte_bounds(layout_a, itemsize_a);
  const ByteBounds bounds_b = byte_bounds(layout_b, itemsize_b);
  if (bounds_a.past == bounds_a.lowest || bounds_b.past == bounds_b.lowest)
    return Overlap::disjoint;
  const Wide start_a = Wide(reinterpret_cast<std::uintptr_t>(a)) + bounds_a.lowest;
  const Wide start_b = Wide(reinterpret_cast<std::uintptr_t>(b)) + bounds_b.lowest;
  const Wide past_a = start_a + (bounds_a.past - bounds_a.lowest);
  const Wide past_b = start_b + (bounds_b.past - bounds_b.lowest);
  if (past_a <= start_b || past_b <= start_a) return Overlap::disjoint;

  // Count a's bytes upwards from its lowest and b's downwards from its highest: all terms positive.
  Equation equation;
  add_axes(equation, layout_a);
  add_axes(equation, layout_b);
  equation.add(1, Wide(itemsize_a - 1) + Wide(itemsize_b - 1));
  return equation.solve(past_b - 1 - start_a, max_work);
}

namespace {

/// Whether every axis steps over all that the axes behind it reach, as in every array that was
/// allocated and every slice of it: enough to know that no elements overlap.
bool is_nested(const Layout& layout, std::size_t itemsize) {
  auto reach = static_cast<std::int64_t>(itemsize);
  for (std::size_t d = layout.rank(); d-- > 0;) {
    const std::int64_t extent = layout.shape[d], stride = layout.strides[d];
    if (extent == 1) continue;
    std::int64_t past = 0;
    if (stride < reach || __builtin_mul_overflow(stride, extent - 1, &past)) return false;
    if (__builtin_add_overflow(reach, past, &reach)) return false;
  }
  return true;
}

}  // namespace

bool overlaps_itself(const Layout& layout, std::size_t itemsize) {
  if (is_nested(layout, itemsize)) return false;
  Shape shape = layout.shape;
  Strides strides = layout.strides;
  const ByteBounds bounds = byte_bounds(layout, itemsize);
  if (bounds.past == bounds.lowest) return false;
  collapse(shape, std::array{&strides});
  sort_axes(shape, std::array{&strides});

  // Two elements overlap if the difference of their indices, with `lead` its first axis that is not
  // 0 (and positive, or swap them), gives less than an element's size.
  constexpr std::int64_t max_work = 10000;
  Wide reach = Wide(itemsize) - 1;
  for (std::size_t lead = shape.size(); lead-- > 0;) {
    const Wide stride = magnitude(strides[lead]);
    const Wide limit = shape[lead] - 1;
    if (stride <= reach) {
      if (stride == 0) return true;
      Equation equation;
      equation.add(stride, limit - 1);
      for (std::size_t i = lead + 1; i < shape.size(); ++i)
        equation.add(magnitude(strides[i]), Wide(2) * (shape[i] - 1));
      equation.add(1, Wide(2) * (Wide(itemsize) - 1));
      if (equation.solve(reach - stride, max_work) != Overlap::disjoint) return true;
    }
    reach += stride * limit;
  }
  return false;
}

void require_no_aliases(const Layout& layout, std::size_t itemsize) {
  require<AliasError>(!overlaps_itself(layout, itemsize), [&] {
    return fmt::format(
        "cannot write to an array of shape {} and strides {}: its elements share memory",
        to_string(layout.shape), to_string(layout.strides));
  });
}

}  // namespace quarry
