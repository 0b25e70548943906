// SPDX-License-Identifier: BSD-3-Clause
#include "lifetimes/scene.hpp"

#include <algorithm>

namespace user {
QUARRY_FUNCTION(twice_and, (auto x, auto y), 2 * x + y);
}

namespace quarry::test {
namespace {

Later new_array(Scene& t) {
  const Array c = t.array(1) + t.array(100);
  return later(c, [](int i) { return 101 + 2 * i; });
}
Later one_operand(Scene& t) {
  const Array c = t.array(1) + 1;
  return later(c, [](int i) { return 2 + i; });
}
Later assigned(Scene& t) {
  const Array out = t.array(0);
  out.assign(t.array(1) * 2 + t.array(100));
  return later(out, [](int i) { return 102 + 3 * i; });
}
Later written_through(Scene& t) {
  const Array out = t.array(0);
  out(all) = t.array(5) - 1;
  return later(out, [](int i) { return 4 + i; });
}
Later in_place(Scene& t) {
  Array out = t.array(0);
  out += t.array(7);
  return later(out, [](int i) { return 7 + 2 * i; });
}
Later through_a_temporary(Scene& t) {
  const Array out = t.array(0, {elements});
  out.assign(out(range(_, _, -1)) + t.array(3, {elements}));
  return later(out, [](int) { return static_cast<int>(elements) - 1 + 3; });
}
Later broadcast_row(Scene& t) {
  const Array c = t.array(0) + t.array(10, {columns});
  return later(c, [](int i) { return i + 10 + i % static_cast<int>(columns); });
}
Later views(Scene& t) {
  const Array a = t.array(0), c = a(range(_, _, -1), all) + a(all, range(_, _, -1));
  return later(c, [](int) { return static_cast<int>(elements) - 1; });
}
Later transposed(Scene& t) {
  const Array c = t.array(0).transpose() + 0;
  return later(c, [](int i) {
    constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
    return i % r * k + i / r;
  });
}
Later flipped(Scene& t) {
  const Array c = flip(t.array(1) * 2);
  return later(c, [](int i) { return 2 * (static_cast<int>(elements) - i); });
}
Later misaligned_operand(Scene& t) {
  const Array c = t.misaligned(4) + t.array(1);
  return later(c, [](int i) { return 5 + 2 * i; });
}
Later misaligned_destination(Scene& t) {
  const Array out = t.misaligned(4);
  out.assign(t.array(1) + 1);
  return later(out, [](int i) { return 2 + i; });
}
Later user_function(Scene& t) {
  const Array c = user::twice_and(t.array(1), t.array(2));
  return later(c, [](int i) { return 4 + 3 * i; });
}
Later many_operands(Scene& t) {
  Array a = t.array(1), b = t.array(2), c = t.array(3), d = t.array(4);
  const Array e = (a + b) * 2 + (c + d) * 3 + t.array(5) + t.array(6) + t.array(7) + t.array(8);
  return later(e, [](int i) { return 2 * 3 + 3 * 7 + 26 + 14 * i; });
}
Later several_results(Scene& t) {
  const Array a = t.array(1), b = t.array(3);
  const auto [first, second] = eval(a + b, a * 2 + b);
  const Array both = first + second;
  return later(both, [](int i) { return 4 + 2 * i + 5 + 3 * i; });
}
Later taken(Scene& t) {
  const Array c = take<IndexMode::clip>(t.array(1), t.array(0) - 2);
  return later(c, [](int i) { return std::max(i - 1, 1); });
}
/// The positions are checked at once, so the call waits.
Later taken_and_checked(Scene& t) {
  const Array c = take(t.array(1), t.array(0)) + 1;
  return later(c, [](int i) { return i + 2; });
}
Later indexed(Scene& t) {
  const Array c = t.array(1).ravel()(t.array(0)) * 2;
  return later(c, [](int i) { return 2 * i + 2; });
}
Later written_at_positions(Scene& t) {
  const Array out = t.array(0);
  out.ravel()(t.array(0)) = t.array(5) + 1;
  return later(out, [](int i) { return i + 6; });
}
Later changed_at_positions(Scene& t) {
  const Array out = t.array(3);
  out.ravel()(t.array(0)) += t.array(5);
  return later(out, [](int i) { return 2 * i + 8; });
}
/// The number of a mask's elements is waited for.
Later indexed_by_a_mask(Scene& t) {
  const Array c = t.array(1)(t.array(0, {rows}) >= 0, t.array(0, {rows}) * 0) + 1;
  return later(c, [](int i) { return 2 + i * static_cast<int>(columns); });
}
Later written_by_a_mask(Scene& t) {
  const Array out = t.array(0);
  out(all, t.array(0, {columns}) < 5) = t.array(7, {1, 5}) * 2;
  return later(out, [](int i) {
    const int column = i % static_cast<int>(columns);
    return column < 5 ? 2 * (7 + column) : i;
  });
}
Later changed_by_a_list(Scene& t) {
  const Array out = t.array(0);
  std::vector<IndexEntry> entries = {t.array(0, {rows}), t.array(0, {columns}) == 0};
  out(entries) += t.array(5, {rows});
  entries.clear();
  return later(out, [](int i) {
    constexpr int k = static_cast<int>(columns);
    return i % k == 0 ? i + 5 + i / k : i;
  });
}
Later cast(Scene& t) {
  const auto c = t.array(1).astype<double>();
  return later(c, [](int i) { return 1 + i; });
}
Later mapped_operand(Scene& t) {
  const Array c = t.mapped(1) + 1;
  return later(c, [](int i) { return 2 + i; });
}
Later managed_operand(Scene& t) {
  const Array c = t.managed(1) + 1;
  return later(c, [](int i) { return 2 + i; });
}
Later mapped_destination(Scene& t) {
  const Array out = t.mapped(0);
  out.assign(t.array(1) + 1);
  return later(out, [](int i) { return 2 + i; });
}

Later filled(Scene& t) {
  const Array out = t.array(1);
  out.fill(7);
  return later(out, [](int) { return 7; });
}
Later filled_in_steps(Scene& t) {
  const Array out = t.array(0);
  out(all, range(_, _, 2)).fill(-1);
  return later(out, [](int i) { return i % 2 == 0 ? -1 : i; });
}
Later filled_misaligned(Scene& t) {
  const Array out = t.misaligned(1);
  out.fill(7);
  return later(out, [](int) { return 7; });
}
Later triangle(Scene& t) {
  const Array c = tril(t.array(1, {rows, columns}) * 2, -1);
  return later(c, [](int i) {
    constexpr int k = static_cast<int>(columns);
    return i % k < i / k ? 2 * (i + 1) : 0;
  });
}
Later joined(Scene& t) {
  const Array c = concatenate(std::tuple(t.array(1, {columns}), t.array(0, {columns}) * 2));
  return later(c, [](int i) {
    constexpr int k = static_cast<int>(columns);
    return i < k ? 1 + i : 2 * (i - k);
  });
}
Later joined_rows(Scene& t) {
  const Array c = concatenate({t.array(1), t.array(0)}, 1);
  return later(c, [](int i) {
    constexpr int k = static_cast<int>(columns);
    const int row = i / (2 * k), column = i % (2 * k);
    return row * k + column + (column < k ? 1 : -k);
  });
}
Later tiled(Scene& t) {
  const Array c = tile(t.array(1, {columns}) + 1, {2});
  return later(c, [](int i) { return 2 + i % static_cast<int>(columns); });
}
Later rolled(Scene& t) {
  const Array c = roll(t.array(0, {elements}), 1);
  return later(
      c, [](int i) { return (i + static_cast<int>(elements) - 1) % static_cast<int>(elements); });
}
Later padded(Scene& t) {
  const Array c = pad<PadMode::wrap>(t.array(0, {columns}), {columns, 0});
  return later(c, [](int i) { return i % static_cast<int>(columns); });
}
Later repeated_by_counts(Scene& t) {
  const Array c = repeat(t.array(0, {2}), {3, 4});
  return later(c, [](int i) { return i < 3 ? 0 : 1; });
}
Later full_array(Scene&) {
  return later(full<int>({rows, columns}, 3), [](int) { return 3; });
}

Later sums_all(Scene& t) {
  const auto s = sum(t.array(1));
  return later(s, [](int) { return static_cast<int>(elements * (elements + 1) / 2); });
}
Later sums_rows(Scene& t) {
  const auto s = sum(t.array(0), 1);
  return later(s, [](int r) {
    constexpr int k = static_cast<int>(columns);
    return k * k * r + k * (k - 1) / 2;
  });
}
Later sums_columns(Scene& t) {
  const auto s = sum(t.array(0), 0);
  return later(s, [](int c) {
    constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
    return r * c + k * (r * (r - 1) / 2);
  });
}
Later sums_an_expression(Scene& t) {
  const auto s = sum(t.array(1) - t.array(0));
  return later(s, [](int) { return static_cast<int>(elements); });
}
Later sums_misaligned(Scene& t) {
  const auto s = sum(t.misaligned(0) + 1);
  return later(s, [](int) { return static_cast<int>(elements * (elements + 1) / 2); });
}
Later finds(Scene& t) {
  const auto s = argmax(t.array(0)(all, range(_, _, -1)), 1);
  return later(s, [](int) { return 0; });
}
Later largest(Scene& t) {
  const auto s = max(t.array(0), 1, {.keepdims = true});
  return later(s, [](int r) { return static_cast<int>(columns) * (r + 1) - 1; });
}
Later averages(Scene& t) {
  const auto s = mean(t.array(1, {1001}));
  return later(s, [](int) { return 501; });
}
Later varies(Scene& t) {
  const auto s = var(t.array(1, {1001}));
  return later(s, [](int) { return 83500; });
}
/// Waits for the largest element before it counts; the expression is gone when it does.
Later counts(Scene& t) {
  const auto s = bincount(t.array(1, {elements}) % 4, 4);
  return later(s, [](int) { return static_cast<int>(elements) / 4; });
}
Later sums_weights(Scene& t) {
  const auto s = bincount(t.array(1, {elements}) % 4, t.array(0, {elements}) * 0 + 3);
  return later(s, [](int) { return 3 * static_cast<int>(elements) / 4; });
}
Later differences_twice(Scene& t) {
  const Array d = diff(t.array(1) * 5, 2);
  return later(d, [](int) { return 0; });
}
struct Pair {
  int first, second;
};
Later records_taken(Scene& t) {
  const auto c = take<IndexMode::wrap>(t.array(1, {elements}).view<Pair>(), t.array(1, {rows}));
  return later(c.view<int>(), [](int i) { return 3 + i; });
}
Later records_chosen(Scene& t) {
  const auto x = t.array(1, {elements}).view<Pair>(), y = t.array(100, {elements}).view<Pair>();
  const auto c = where(t.array(0, {elements / 2}) % 2 == 0, x, y);
  return later(c.view<int>(), [](int i) { return i + (i / 2 % 2 == 0 ? 1 : 100); });
}
Later sums_exponentials(Scene& t) {
  const auto s = exp(logsumexp(t.array(1, {rows, columns}) * 0, 1)) + 0.5;
  const Array whole = s.astype<int>();
  return later(whole, [](int) { return static_cast<int>(columns); });
}
Later softens(Scene& t) {
  const Array s = (softmax(t.array(1, {columns}) * 0) * double(2 * columns) + 0.5).astype<int>();
  return later(s, [](int) { return 2; });
}
Later tests_all(Scene& t) {
  const auto s = all_of(t.array(1) > 0);
  return later(s, [](int) { return 1; });
}

}  // namespace

std::vector<EntryPoint> expression_entries() {
  return {
      {"NewArray", new_array},
      {"OneOperand", one_operand},
      {"Assigned", assigned},
      {"WrittenThrough", written_through},
      {"InPlace", in_place},
      {"ThroughATemporary", through_a_temporary},
      {"BroadcastRow", broadcast_row},
      {"Views", views},
      {"Transposed", transposed},
      {"Flipped", flipped},
      {"MisalignedOperand", misaligned_operand},
      {"MisalignedDestination", misaligned_destination},
      {"UserFunction", user_function},
      {"ManyOperands", many_operands},
      {"SeveralResults", several_results},
      {"Taken", taken},
      {.name = "TakenAndChecked", .queue = taken_and_checked, .blocks = Blocks::everywhere},
      {.name = "Indexed", .queue = indexed, .blocks = Blocks::everywhere},
      {.name = "WrittenAtPositions", .queue = written_at_positions, .blocks = Blocks::everywhere},
      {.name = "ChangedAtPositions", .queue = changed_at_positions, .blocks = Blocks::everywhere},
      {.name = "IndexedByAMask", .queue = indexed_by_a_mask, .blocks = Blocks::everywhere},
      {.name = "WrittenByAMask", .queue = written_by_a_mask, .blocks = Blocks::everywhere},
      {.name = "ChangedByAList", .queue = changed_by_a_list, .blocks = Blocks::everywhere},
      {"Cast", cast},
      {"MappedOperand", mapped_operand},
      {.name = "ManagedOperand", .queue = managed_operand, .blocks = Blocks::everywhere},
      {"MappedDestination", mapped_destination},
      {"Filled", filled},
      {"FilledInSteps", filled_in_steps},
      {"FilledMisaligned", filled_misaligned},
      {"Triangle", triangle},
      {"Joined", joined},
      {"JoinedRows", joined_rows},
      {"Tiled", tiled},
      {"Rolled", rolled},
      {"Padded", padded},
      {"RepeatedByCounts", repeated_by_counts},
      {"Full", full_array}};
}

std::vector<EntryPoint> reduction_entries() {
  return {{"SumsAll", sums_all},
          {"SumsRows", sums_rows},
          {"SumsColumns", sums_columns},
          {"SumsAnExpression", sums_an_expression},
          {"SumsMisaligned", sums_misaligned},
          {"Finds", finds},
          {"Largest", largest},
          {"Averages", averages},
          {"Varies", varies},
          {"SumsExponentials", sums_exponentials},
          {"Softens", softens},
          {"TestsAll", tests_all},
          {"DifferencesTwice", differences_twice},
          {"RecordsTaken", records_taken},
          {"RecordsChosen", records_chosen},
          {.name = "SumsWeights", .queue = sums_weights, .blocks = Blocks::everywhere},
          {.name = "Counts", .queue = counts, .blocks = Blocks::everywhere}};
}

}  // namespace quarry::test
