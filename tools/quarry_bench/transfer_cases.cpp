// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/transfer_cases.hpp"

#include <bit>

namespace bench {

namespace {

constexpr std::size_t smallest = 256;
constexpr Pattern strided_patterns[] = {Pattern::second_columns, Pattern::transposed,
                                        Pattern::column_block, Pattern::second_rows};

std::size_t power_of_four_up_to(std::size_t most) {
  std::size_t bytes = smallest;
  while (bytes * 4 <= most) bytes *= 4;
  return bytes;
}

/// 256 B, 1 KiB, 4 KiB, ...; with `quick` every other one, and the largest.
std::vector<std::size_t> sizes_up_to(std::size_t most, bool quick) {
  const std::size_t largest = power_of_four_up_to(most);
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = smallest; bytes < largest; bytes *= quick ? 16 : 4) {
    sizes.push_back(bytes);
  }
  sizes.push_back(largest);
  return sizes;
}

/// The largest that is a quarter of `most`, which strided patterns span, and one that fits in
/// caches.
std::vector<std::size_t> strided_sizes(std::size_t most, bool quick) {
  const std::size_t large = power_of_four_up_to(most / 4);
  if (quick || large / 64 < smallest) return {large};
  return {large / 64, large};
}

class List {
 public:
  explicit List(const TransferPlan& plan)
      : sizes_(sizes_up_to(plan.most_bytes, plan.quick)),
        strided_(strided_sizes(plan.most_bytes, plan.quick)) {}

  void contiguous(const std::string& section, Memory memory, std::size_t least = 0) {
    for (const Way way : {Way::up, Way::down}) {
      for (const std::size_t bytes : sizes_) {
        if (bytes >= least) cases.push_back({section, memory, way, bytes});
      }
    }
  }
  void strided(const std::string& section, Memory memory) {
    for (const Way way : {Way::up, Way::down}) {
      for (const Side side : {Side::host, Side::device}) {
        for (const Pattern pattern : strided_patterns) {
          for (const std::size_t bytes : strided_) {
            cases.push_back({section, memory, way, bytes, pattern, side});
          }
        }
      }
    }
  }
  void streams(const std::string& section, Memory memory) {
    for (const Way way : {Way::up, Way::down}) {
      for (const std::size_t bytes : strided_) {
        for (const int streams : {1, 2, 4}) {
          cases.push_back({section, memory, way, bytes, Pattern::contiguous, Side::host, streams});
        }
      }
    }
  }
  void on_device() {
    const std::string section = "on the device";
    for (const std::size_t bytes : sizes_) {
      cases.push_back({section, Memory::device, Way::across, bytes});
    }
    for (const Pattern pattern : strided_patterns) {
      cases.push_back(
          {section, Memory::device, Way::across, strided_.back(), pattern, Side::device});
    }
  }
  void both_ways() {
    for (const std::size_t bytes : sizes_) {
      cases.push_back({"both ways at once", Memory::pinned, Way::both, bytes, Pattern::contiguous,
                       Side::host, 2});
    }
  }

  std::vector<TransferCase> cases;

 private:
  std::vector<std::size_t> sizes_, strided_;
};

}  // namespace

std::string to_string(Memory memory) {
  constexpr const char* names[] = {"pageable", "pinned", "mapped", "managed", "device"};
  return names[static_cast<int>(memory)];
}

std::string to_string(Way way) {
  constexpr const char* names[] = {"H2D", "D2H", "D2D", "both"};
  return names[static_cast<int>(way)];
}

std::string to_string(Pattern pattern, Side side) {
  if (pattern == Pattern::contiguous) return "contiguous";
  constexpr const char* names[] = {"", "[:, ::2]", ".T", "[:, :n/4]", "[::2]"};
  return std::string(side == Side::host ? "h" : "d").append(names[static_cast<int>(pattern)]);
}

quarry::Layout matrix(std::size_t bytes, Pattern pattern) {
  const auto elements = static_cast<std::int64_t>(bytes / sizeof(float));
  const std::int64_t columns = std::int64_t{1} << ((std::bit_width(bytes / sizeof(float)) - 1) / 2);
  const std::int64_t rows = elements / columns, row = 4 * columns;
  switch (pattern) {
    case Pattern::contiguous:
      return {quarry::Shape{rows, columns}, quarry::Strides{row, 4}};
    case Pattern::second_columns:
      return {quarry::Shape{rows, columns}, quarry::Strides{2 * row, 8}};
    case Pattern::transposed:
      return {quarry::Shape{rows, columns}, quarry::Strides{4, 4 * rows}};
    case Pattern::column_block:
      return {quarry::Shape{rows, columns}, quarry::Strides{4 * row, 4}};
    case Pattern::second_rows:
      return {quarry::Shape{rows, columns}, quarry::Strides{2 * row, 4}};
  }
  return {};
}

std::size_t span_of(const quarry::Layout& layout) {
  std::int64_t last = sizeof(float);
  for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
    last += (layout.shape[axis] - 1) * layout.strides[axis];
  }
  return static_cast<std::size_t>(last);
}

std::vector<TransferCase> transfer_cases(const TransferPlan& plan) {
  List list(plan);
  list.contiguous("pageable host memory", Memory::pageable);
  list.strided("pageable host memory, strided", Memory::pageable);
  list.streams("pageable host memory, streams", Memory::pageable);
  if (!plan.is_cpu) {
    list.contiguous("page-locked host memory", Memory::pinned);
    list.strided("page-locked host memory, strided", Memory::pinned);
    list.streams("page-locked host memory, streams", Memory::pinned);
    list.both_ways();
    list.contiguous("mapped host memory, by a kernel", Memory::mapped);
  }
  if (plan.has_managed) {
    list.contiguous("managed memory, prefetched", Memory::managed, std::size_t{64} << 10);
  }
  list.on_device();
  return list.cases;
}

}  // namespace bench
