// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/pack.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "memory/staged/nontemporal.hpp"
#include "memory/staged/short_runs.hpp"

namespace quarry::memory {
namespace {

enum class Way { pack, pack_nontemporal, unpack };

/// Runs of at least this many bytes are stored non-temporally one by one: their ends, which are
/// parts of cache lines, hardly count.
constexpr std::size_t nontemporal_run = 4096;

/// `n` runs of N bytes (a constant: one or two moves), `step` bytes apart in the strided memory.
template <Way way, class Size, class Step>
void copy_runs(std::byte* strided, std::byte* packed, std::size_t n, Size run, Step step) {
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* const at = strided + i * step;
    if constexpr (way == Way::pack) {
      std::memcpy(packed + i * run, at, run);
    } else if constexpr (way == Way::pack_nontemporal) {
      copy_nontemporal(packed + i * run, at, run);
    } else {
      std::memcpy(at, packed + i * run, run);
    }
  }
}

template <std::size_t N>
using Constant = std::integral_constant<std::size_t, N>;

template <Way way, std::size_t N>
void copy_constant_runs(std::byte* strided, std::byte* packed, std::size_t n, std::size_t step) {
  if constexpr (N == 4 || N == 8) {  // every other element: common enough for its own loops
    if (step == 2 * N) {
      if constexpr (way == Way::unpack) return unpack_every_other(strided, packed, N, n);
      return pack_every_other(packed, strided, N, n);
    }
  }
  copy_runs<way>(strided, packed, n, Constant<N>{}, step);
}

using RunCopy = void (*)(std::byte*, std::byte*, std::size_t, std::size_t);

template <Way way, std::size_t... N>
RunCopy constant_copy(std::size_t run, std::index_sequence<N...>) {
  RunCopy found = nullptr;
  ((run == N ? void(found = copy_constant_runs<way, N>) : void()), ...);
  return found;
}

/// Copies the bytes of the packed form one after another.
template <Way way>
class Walker {
 public:
  /// Begins at byte `first` of the packed form.
  Walker(const Walk& walk, std::byte* memory, std::size_t first)
      : walk_(walk),
        constant_(constant_copy<way>(
            walk.run, std::index_sequence<1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64>{})),
        step_(walk.is_dense() ? 0 : static_cast<std::size_t>(walk.strides.back())),
        short_(walk.run, step_),
        begin_(first % walk.run) {
    index_ = Shape::filled(walk.shape.size(), 0);
    at_ = memory;
    auto rest = static_cast<std::int64_t>(first / walk.run);
    for (std::size_t d = walk.shape.size(); d-- > 0;) {
      index_[d] = rest % walk.shape[d];
      rest /= walk.shape[d];
      at_ += index_[d] * walk.strides[d];
    }
  }

  /// The next `bytes`.
  void copy(std::size_t bytes, std::byte* packed) {
    if (begin_ != 0) {
      const std::size_t n = std::min(walk_.run - begin_, bytes);
      part(n, packed);
      packed += n;
      bytes -= n;
    }
    const std::size_t whole = bytes / walk_.run;
    runs(whole, packed);
    if (const std::size_t left = bytes - whole * walk_.run; left > 0) {
      part(left, packed + whole * walk_.run);
    }
  }

 private:
  /// Some bytes of the run that the walker is at.
  void part(std::size_t bytes, std::byte* packed) {
    copy_runs<way>(at_ + begin_, packed, 1, bytes, std::size_t{0});
    begin_ += bytes;
    if (begin_ < walk_.run) return;
    begin_ = 0;
    advance(1);
  }
  void runs(std::size_t count, std::byte* packed) {
    while (count > 0) {
      const std::size_t n = std::min(count, left_in_row());
      row(n, packed);
      packed += n * walk_.run;
      count -= n;
      advance(n);
    }
  }
  std::size_t left_in_row() const {
    return walk_.is_dense() ? 1 : static_cast<std::size_t>(walk_.shape.back() - index_.back());
  }
  void row(std::size_t n, std::byte* packed) {
    std::size_t done = 0;
    if constexpr (way == Way::pack) done = short_.pack(packed, at_, n);
    if constexpr (way == Way::unpack) done = short_.unpack(at_, packed, n);
    std::byte *const at = at_ + done * step_, *const rest = packed + done * walk_.run;
    if (constant_) return constant_(at, rest, n - done, step_);
    copy_runs<way>(at, rest, n - done, walk_.run, step_);
  }
  /// `n` runs ahead, at most to the start of the next row.
  void advance(std::size_t n) {
    if (walk_.is_dense()) return;
    index_.back() += static_cast<std::int64_t>(n);
    at_ += static_cast<std::int64_t>(n) * walk_.strides.back();
    for (std::size_t d = index_.size() - 1; d > 0 && index_[d] == walk_.shape[d]; --d) {
      at_ += walk_.strides[d - 1] - walk_.shape[d] * walk_.strides[d];
      index_[d] = 0;
      ++index_[d - 1];
    }
  }

  const Walk& walk_;
  const RunCopy constant_;
  const std::size_t step_;
  const ShortRuns short_;
  std::size_t begin_;  ///< of the next byte, in its run
  Shape index_;
  std::byte* at_;
};

template <Way way>
void copy_range(const Walk& walk, std::byte* memory, std::size_t first, std::size_t last,
                std::byte* packed) {
  if (first < last) Walker<way>(walk, memory, first).copy(last - first, packed);
}

/// Packs into a few lines that stay in the first-level cache, and stores those: a line that is
/// stored non-temporally in parts takes several times as long.
void pack_lines(const Walk& walk, std::byte* memory, std::size_t first, std::size_t last,
                std::byte* to) {
  alignas(64) std::array<std::byte, 2048> lines;
  Walker<Way::pack> walker(walk, memory, first);
  std::size_t room = lines.size() - reinterpret_cast<std::uintptr_t>(to) % 64;
  for (std::size_t n; first < last; first += n, to += n, room = lines.size()) {
    n = std::min(room, last - first);
    walker.copy(n, lines.data());
    copy_nontemporal(to, lines.data(), n);
  }
}

}  // namespace

Walk walk_of(Shape shape, Strides strides, std::size_t itemsize) {
  const std::array pointers{&strides};
  sort_axes(shape, pointers);
  collapse(shape, pointers);
  Walk walk{std::move(shape), std::move(strides), itemsize};
  if (!walk.shape.empty() && walk.strides.back() == static_cast<std::int64_t>(itemsize)) {
    walk.run *= static_cast<std::size_t>(walk.shape.back());
    walk.shape.pop_back();
    walk.strides.pop_back();
  }
  return walk;
}

void pack(const Walk& walk, const std::byte* from, std::size_t first, std::size_t last,
          std::byte* to, Stores stores) {
  auto* const memory = const_cast<std::byte*>(from);
  if (stores == Stores::cached) return copy_range<Way::pack>(walk, memory, first, last, to);
  if (walk.run >= nontemporal_run) {
    copy_range<Way::pack_nontemporal>(walk, memory, first, last, to);
  } else {
    pack_lines(walk, memory, first, last, to);
  }
  fence_stores();
}

void unpack(const Walk& walk, std::byte* to, std::size_t first, std::size_t last,
            const std::byte* from, Stores stores) {
  if (stores == Stores::cached || !walk.is_dense()) {
    return copy_range<Way::unpack>(walk, to, first, last, const_cast<std::byte*>(from));
  }
  copy_nontemporal(to + first, from, last - first);
  fence_stores();
}

}  // namespace quarry::memory
