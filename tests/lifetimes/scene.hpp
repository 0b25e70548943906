// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/host_memory.hpp>
#include <quarry/quarry.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gate.hpp"

/// What happens to memory between a call that queues work on it and that work. Every entry point of
/// the library that reads or writes arrays is one row of a table: it queues its work in a stream
/// that is held back and drops its operands.
namespace quarry::test {

using Values = std::vector<int>;
using Array = DeviceNDArray<int>;
using Pinned = std::vector<int, PinnedAllocator<int>>;

constexpr std::int64_t rows = 30, columns = 40, elements = rows * columns;
constexpr int poison = 9'999;

/// What comes out when the streams are done. Destroying it drops the results; what the library asks
/// the program to keep until then is not `droppable`.
struct Later {
  std::function<Values()> seen;
  Values expected;
  bool droppable = true;
};

/// first, first + 1, ...
Values ramp(int first, std::int64_t count = elements);
/// The expected values, by position.
template <class F>
Values each(F f, std::int64_t count = elements) {
  Values result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(static_cast<int>(i));
  return result;
}
template <class A>
Values values_of(const A& array) {
  const auto size = static_cast<std::size_t>(array.size());
  const auto host = std::make_unique<typename A::value_type[]>(size);
  array.copy_to_host(std::span(host.get(), size));
  return Values(host.get(), host.get() + size);
}
template <class A, class F>
Later later(const A& array, F f) {
  return {[array] { return values_of(array); }, each(f, array.size())};
}
/// For host memory that lives until the end.
template <class H, class F>
Later later(const std::shared_ptr<H>& host, F f) {
  return {[host] { return Values(host->begin(), host->end()); },
          each(f, static_cast<std::int64_t>(host->size())), false};
}

/// The streams of one row, and the memory that its operands have had.
class Scene {
 public:
  explicit Scene(bool has_gate);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// Operands live in `home`, or on the second GPU in `away`; work is queued in `held`.
  const Stream home, other, held;
  const std::optional<Stream> away;

  /// ramp(first) of this shape, there already.
  Array array(int first, const Shape& shape = {rows, columns});
  /// The same of floats; at an address that is not aligned; in memory of the host.
  DeviceNDArray<float> floats(int first);
  Array misaligned(int first);
  Array managed(int first);
  Array mapped(int first);
  Pinned pinned(int first);
  /// ramp(first) on the second GPU, queued there behind other values and perhaps not yet there.
  Array coming_from_away(int first);
  /// The same, there already, in the default stream's memory.
  Array array_away(int first);

  /// Takes memory like that of all operands, wherever it is to be had, and writes other values.
  void refill(bool waits);
  void open() { gates_.clear(); }
  /// Whether what was written by refill() is still there.
  bool is_intact() const;

 private:
  enum class Kind { device, away, managed, mapped, pinned };
  template <class A>
  A note(A array, Kind kind = Kind::device) {
    kinds_.push_back(kind);
    return array;
  }
  void refill(Kind kind);

  std::vector<std::unique_ptr<Gate>> gates_;
  std::vector<Kind> kinds_;
  std::vector<Array> refills_;
  std::vector<Pinned> pinned_refills_;
};

/// On a GPU the functions that streams call wait for each other: the gate holds them all.
enum class Blocks { nowhere, on_the_cpu, on_a_gpu, everywhere };

/// One entry point.
struct EntryPoint {
  const char* name;
  Later (*queue)(Scene& scene);
  /// It waits for its stream itself, so nobody else does.
  bool waits = false;
  /// The home stream of an operand waits for the one that is held.
  bool joins = false;
  /// The call waits for its stream, or the end of an operand does, as cuMemFree: nobody can hold
  /// it.
  Blocks blocks = Blocks::nowhere;
  bool two_gpus = false;
};
std::vector<EntryPoint> expression_entries();
std::vector<EntryPoint> reduction_entries();
std::vector<EntryPoint> copy_entries();
std::vector<EntryPoint> host_entries();
std::vector<EntryPoint> raw_entries();
std::vector<EntryPoint> device_entries();
std::vector<EntryPoint> waiting_entries();

}  // namespace quarry::test
