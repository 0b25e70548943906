// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/transfer_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace quarry::memory {
namespace {

/// Both sides as slices of rows of `run` bytes, which lie at these strides, or nothing if they are
/// not.
std::optional<Rectangle> rectangle_of(const Shape& shape, const Strides& host,
                                      const Strides& device, std::size_t run) {
  if (shape.size() > 2) return std::nullopt;
  Rectangle r{run, 1, 1, 0, 0, 0, 0};
  auto least = static_cast<std::int64_t>(run);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (host[d] < least || device[d] < least) return std::nullopt;
    const bool is_row = d + 1 == shape.size();
    (is_row ? r.rows : r.slices) = static_cast<std::size_t>(shape[d]);
    (is_row ? r.host_pitch : r.host_slice) = static_cast<std::size_t>(host[d]);
    (is_row ? r.device_pitch : r.device_slice) = static_cast<std::size_t>(device[d]);
    least = 0;  // slices may interleave with rows as they like
  }
  return r;
}

/// From the host's elements directly to those of the device.
std::optional<Rectangle> straight_rectangle(const HostCopy& copy) {
  Shape shape = copy.host.layout.shape;
  Strides host = copy.host.layout.strides, device = copy.device.layout.strides;
  const auto item = static_cast<std::int64_t>(copy.host.dtype.itemsize());
  std::int64_t run = item;
  if (!shape.empty() && host.back() == item && device.back() == item) {
    run *= shape.back();
    for (Dims* dims : {&shape, &host, &device}) dims->pop_back();
  }
  return rectangle_of(shape, host, device, static_cast<std::size_t>(run));
}

/// From the host's elements to packed bytes.
std::optional<Rectangle> packed_rectangle(const Walk& walk) {
  Strides device = walk.strides;
  auto step = static_cast<std::int64_t>(walk.run);
  for (std::size_t d = walk.shape.size(); d-- > 0; step *= walk.shape[d]) device[d] = step;
  return rectangle_of(walk.shape, walk.strides, device, walk.run);
}

/// Whether one call of the driver copies all slices: they are whole numbers of rows apart.
bool is_block(const Rectangle& r) {
  const auto fits = [&](std::size_t slice, std::size_t pitch) {
    return slice % pitch == 0 && slice / pitch >= r.rows;
  };
  return r.slices == 1 ||
         (fits(r.host_slice, r.host_pitch) && fits(r.device_slice, r.device_pitch));
}

bool is_worth_it(const Rectangle& r, const TransferThresholds& t) {
  if (!is_block(r) && r.slices > t.few_rows) return false;
  return r.bytes >= t.row_bytes || r.rows * r.slices <= t.few_rows;
}

/// Page-locked rows are copied directly to the rows of the device if those match, else to packed
/// bytes.
bool take_rectangle(const HostCopy& copy, const TransferThresholds& t, TransferPlan& plan) {
  const Strides& host = copy.host.layout.strides;
  if (std::find(host.begin(), host.end(), 0) != host.end()) return false;
  for (const bool straight : {true, false}) {
    const auto found = straight ? straight_rectangle(copy) : packed_rectangle(plan.packed.walk);
    if (!found || !is_worth_it(*found, t)) continue;
    plan.rectangle = found;
    plan.lands = plan.lands || straight;
    return true;
  }
  return false;
}

/// Pageable copies below this are left to the driver, whose downloads always wait.
std::size_t least_staged(const HostCopy& copy, const TransferThresholds& t) {
  if (copy.waits) return t.staged_bytes;
  return copy.is_up() ? std::min(t.taken_bytes, t.staged_bytes) : 0;
}

Route route_of(const HostCopy& copy, const TransferInput& input, const TransferThresholds& t,
               TransferPlan& plan) {
  const std::size_t small = least_staged(copy, t);
  const auto& [bytes, walk, layout] = plan.packed;
  const bool is_drivers = input.page_locked || (bytes < small && !input.split);
  if (walk.is_dense() && is_drivers) return Route::direct;
  if (input.page_locked && !walk.is_dense() && take_rectangle(copy, t, plan)) {
    return Route::rectangle;
  }
  if (input.page_locked && input.batches && walk.run >= t.piece_bytes) return Route::batch;
  return bytes < small ? Route::packed : Route::staged;
}

}  // namespace

PackedHost packed_host(const HostCopy& copy) {
  const auto& [shape, host] = copy.host.layout;
  const std::size_t itemsize = copy.host.dtype.itemsize();
  PackedHost packed{0, {}, {shape, Strides::filled(shape.size(), 0)}};
  auto step = static_cast<std::int64_t>(itemsize);
  Shape walked;
  Strides steps;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (host[d] == 0) continue;
    walked.push_back(shape[d]);
    steps.push_back(host[d]);
  }
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (host[d] == 0) continue;
    packed.layout.strides[d] = step;
    step *= shape[d];
  }
  packed.walk = walk_of(std::move(walked), std::move(steps), itemsize);
  packed.bytes = packed.walk.bytes();
  return packed;
}

TransferPlan plan_transfer(const HostCopy& copy, const TransferInput& input,
                           const TransferThresholds& thresholds) {
  TransferPlan plan{Route::direct, packed_host(copy), false};
  plan.lands = copy.device.layout.strides == plan.packed.layout.strides;
  plan.route = route_of(copy, input, thresholds, plan);
  return plan;
}

std::string to_string(Route route) {
  switch (route) {
    case Route::direct:
      return "direct";
    case Route::rectangle:
      return "rectangle";
    case Route::batch:
      return "batch";
    case Route::packed:
      return "packed";
    default:
      return "staged";
  }
}

}  // namespace quarry::memory
