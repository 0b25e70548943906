// SPDX-License-Identifier: BSD-3-Clause
#include "lifetimes/scene.hpp"

#include <algorithm>
#include <numeric>

namespace quarry::test {
namespace {

Stream independent_stream(const Device& device = {}) {
  return stream({.non_blocking = true, .device = device});
}

std::optional<Stream> stream_away() {
  if (Device().is_cpu() || gpus.size() < 2) return std::nullopt;
  return independent_stream(Device::cuda(1));
}

}  // namespace

Values ramp(int first, std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

Scene::Scene(bool has_gate)
    : home(independent_stream()),
      other(independent_stream()),
      held(independent_stream()),
      away(stream_away()) {
  if (!has_gate) return;
  gates_.push_back(std::make_unique<Gate>(held));
  if (away) gates_.push_back(std::make_unique<Gate>(*away));
}

Array Scene::array(int first, const Shape& shape) {
  Array array(shape, home);
  array.copy_to_device(ramp(first, array.size()), home);
  home.synchronize();
  return note(array);
}

DeviceNDArray<float> Scene::floats(int first) {
  const Values ints = ramp(first);
  DeviceNDArray<float> array(Shape{rows, columns}, home);
  array.copy_to_device(std::vector<float>(ints.begin(), ints.end()), home);
  home.synchronize();
  return note(array);
}

Array Scene::misaligned(int first) {
  const Array whole = note(Array({elements + 1}, home));
  const Array array({{rows, columns}, {4 * columns, 4}}, whole.device_pointer() + 2,
                    whole.buffer());
  array.bind(home).copy_to_device(ramp(first), home);
  home.synchronize();
  return array;
}

Array Scene::managed(int first) {
  const auto array = managed_array<int>({rows, columns}, {.stream = home});
  std::iota(array.host_pointer(), array.host_pointer() + elements, first);
  return note(static_cast<const Array&>(array), Kind::managed);
}

Array Scene::mapped(int first) {
  const auto array = mapped_array<int>({rows, columns}, {.stream = home});
  std::iota(array.host_pointer(), array.host_pointer() + elements, first);
  return note(static_cast<const Array&>(array), Kind::mapped);
}

Pinned Scene::pinned(int first) {
  const Values values = ramp(first);
  return note(Pinned(values.begin(), values.end()), Kind::pinned);
}

Array Scene::coming_from_away(int first) {
  const StreamGuard guard(*away);
  Array before = full<int>({rows, columns}, poison, {.stream = away});
  Array source(Shape{rows, columns}, *away);
  source.copy_to_device(ramp(first), *away);
  before.assign(source);
  return note(before, Kind::away);
}

Array Scene::array_away(int first) {
  const Stream s = default_stream(Device::cuda(1));
  Array array(Shape{rows, columns}, s);
  array.copy_to_device(ramp(first), s);
  s.synchronize();
  return note(array, Kind::away);
}

void Scene::refill(Kind kind) {
  const Shape shape{rows, columns};
  for (const Stream& s : {home, home, other}) {
    switch (kind) {
      case Kind::device:
        refills_.push_back(full<int>(shape, poison, {.stream = s}));
        refills_.push_back(full<int>({elements + 1}, poison, {.stream = s}));
        break;
      case Kind::away:
        refills_.push_back(full<int>(shape, poison, {.stream = away}));
        refills_.push_back(full<int>(shape, poison, {.device = Device::cuda(1)}));
        break;
      case Kind::managed:
        refills_.push_back(managed_array<int>(shape, {.stream = s}));
        refills_.back().fill(poison);
        break;
      case Kind::mapped:
        refills_.push_back(mapped_array<int>(shape, {.stream = s}));
        refills_.back().fill(poison);
        break;
      case Kind::pinned:
        pinned_refills_.emplace_back(elements, poison);
        break;
    }
  }
}

void Scene::refill(bool waits) {
  std::ranges::sort(kinds_);
  for (const Kind kind : kinds_) refill(kind);
  if (!waits) return;
  home.synchronize();
  other.synchronize();
}

bool Scene::is_intact() const {
  const auto is_poison = [](int value) { return value == poison; };
  return std::ranges::all_of(refills_,
                             [&](const Array& array) {
                               return std::ranges::all_of(values_of(array), is_poison);
                             }) &&
         std::ranges::all_of(pinned_refills_, [&](const Pinned& pinned) {
           return std::ranges::all_of(pinned, is_poison);
         });
}

}  // namespace quarry::test
