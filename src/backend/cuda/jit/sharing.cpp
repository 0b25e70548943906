// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/sharing.hpp"

#include <algorithm>
#include <charconv>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>

#include "kernels/user_function.hpp"

namespace quarry::backend::cuda {
namespace {

bool same_input(const KernelCall& call, std::size_t a, std::size_t b) {
  const kernels::program& program = *call.program;
  const auto outputs = static_cast<std::size_t>(program.outputs);
  const std::size_t j = outputs + a, k = outputs + b;
  const Operand &x = call.operands[j], &y = call.operands[k];
  return x.data == y.data && x.strides == y.strides && program.itemsize[j] == program.itemsize[k] &&
         !program.is_side(j) && !program.is_side(k);
}

bool same_scalar(const KernelCall& call, std::size_t a, std::size_t b) {
  const Scalar &x = call.scalars[a], &y = call.scalars[b];
  return x.word[0] == y.word[0] && x.word[1] == y.word[1];
}

bool any_same(const std::vector<std::size_t>& first) {
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (first[k] != k) return true;
  }
  return false;
}

bool holds(const Sharing& sharing, const KernelCall& call) {
  for (std::size_t k = 0; k < sharing.input.size(); ++k) {
    if (sharing.input[k] != k && !same_input(call, sharing.input[k], k)) return false;
  }
  for (std::size_t k = 0; k < sharing.scalar.size(); ++k) {
    if (sharing.scalar[k] != k && !same_scalar(call, sharing.scalar[k], k)) return false;
  }
  return true;
}

/// For each of `count` the first that is the same, now and in `before` if there is one.
std::vector<std::size_t> firsts(std::size_t count, const std::vector<std::size_t>* before,
                                auto same) {
  std::vector<std::size_t> first(count);
  for (std::size_t k = 0; k < count; ++k) {
    first[k] = k;
    for (std::size_t j = 0; j < k && first[k] == k; ++j) {
      const bool was_same = !before || (*before)[j] == (*before)[k];
      if (was_same && same(j, k)) first[k] = j;
    }
  }
  return first;
}

Sharing shared_by(const KernelCall& call, const Sharing* before) {
  const auto inputs = static_cast<std::size_t>(call.program->inputs);
  Sharing sharing;
  sharing.input = firsts(inputs, before ? &before->input : nullptr,
                         [&](std::size_t a, std::size_t b) { return same_input(call, a, b); });
  if (!any_same(sharing.input)) return {};
  sharing.scalar = firsts(call.scalars.size(), before ? &before->scalar : nullptr,
                          [&](std::size_t a, std::size_t b) { return same_scalar(call, a, b); });
  return sharing;
}

/// Of programs of which nothing is the same.
const Sharing& nothing() {
  static const auto& sharing = *new Sharing;
  return sharing;
}

const Sharing* keep(Sharing&& sharing) {
  if (sharing.input.empty()) return &nothing();
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::list<Sharing>;
  const std::lock_guard lock(mutex);
  return &all.emplace_back(std::move(sharing));
}

using kernels::text::is_name_character;

/// An occurrence of `in<T, k>` or `val<T, k>`.
struct Named {
  std::size_t begin, end;  ///< of the number
  std::size_t number;
  std::string type;
};

std::vector<Named> occurrences(const std::string& name, std::string_view open) {
  std::vector<Named> found;
  for (auto at = name.find(open); at != name.npos; at = name.find(open, at + 1)) {
    if (at > 0 && is_name_character(name[at - 1])) continue;
    const std::size_t begin = at + open.size();
    std::size_t end = begin, comma = begin;
    for (int depth = 1; end < name.size(); ++end) {
      depth += (name[end] == '<') - (name[end] == '>');
      if (depth == 0) break;
      if (depth == 1 && name[end] == ',') comma = end;
    }
    Named one{name.find_first_not_of(", ", comma), end, 0, name.substr(begin, comma - begin)};
    const char *const first = name.data() + one.begin, *const last = name.data() + end;
    if (one.begin > end || std::from_chars(first, last, one.number).ptr != last) continue;
    found.push_back(std::move(one));
  }
  return found;
}

void renumber(std::string& name, std::string_view open, const std::vector<std::size_t>& first) {
  const std::vector<Named> all = occurrences(name, open);
  std::map<std::size_t, std::string_view> types;
  for (const Named& one : all) types.emplace(one.number, one.type);
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (one->number >= first.size()) continue;
    const auto same = types.find(first[one->number]);
    if (same == types.end() || same->second != one->type) continue;
    name.replace(one->begin, one->end - one->begin, std::to_string(same->first));
  }
}

}  // namespace

const Sharing* sharing_of(const KernelCall& call) {
  if (call.program->inputs < 2) return nullptr;
  auto& place = call.program->sharing;
  const void* known = place.load(std::memory_order_acquire);
  for (;;) {
    const auto* const before = static_cast<const Sharing*>(known);
    if (before && holds(*before, call)) return before->input.empty() ? nullptr : before;
    const Sharing* const now = keep(shared_by(call, before));
    if (place.compare_exchange_strong(known, now, std::memory_order_acq_rel)) known = now;
  }
}

std::string with_sharing(std::string name, const Sharing& sharing) {
  renumber(name, "in<", sharing.input);
  renumber(name, "val<", sharing.scalar);
  return name;
}

}  // namespace quarry::backend::cuda
