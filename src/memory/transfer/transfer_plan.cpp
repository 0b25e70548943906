// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/transfer_plan.hpp"

#include <algorithm>
#include <array>

namespace quarry::memory {
namespace {

/// Drops unit axes, turns axes along which the host runs backwards, and orders the rest as the
/// host's addresses ascend.
void order_by_host(const TransferInput& input, TransferPlan& plan, Strides& host) {
  for (std::size_t d = 0; d < input.shape.size(); ++d) {
    const std::int64_t n = input.shape[d];
    if (n == 1) continue;
    std::int64_t h = input.host[d], v = input.device[d];
    if (h < 0) {
      plan.host_offset += (n - 1) * h;
      plan.device_offset += (n - 1) * v;
      h = -h, v = -v;
    }
    plan.packed.shape.push_back(n);
    host.push_back(h);
    plan.device.push_back(v);
  }
  const std::array pointers{&host, &plan.device};
  sort_axes(plan.packed.shape, pointers);
}

/// The strides of the packed bytes, and the walk that makes them. Axes that repeat are left out.
void lay_out_packed(const Strides& host, std::size_t itemsize, TransferPlan& plan) {
  const Shape& shape = plan.packed.shape;
  Shape walked;
  Strides steps;
  plan.packed.strides = Strides::filled(shape.size(), 0);
  auto step = static_cast<std::int64_t>(itemsize);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (host[d] == 0) continue;
    plan.packed.strides[d] = step;
    step *= shape[d];
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (host[d] == 0) continue;
    walked.push_back(shape[d]);
    steps.push_back(host[d]);
  }
  plan.host = walk_of(std::move(walked), std::move(steps), itemsize);
  plan.bytes = plan.host.bytes();
}

/// Both sides as slices of rows without gaps, or nothing if they are not.
std::optional<Rectangle> rectangle_of(Shape shape, Strides host, Strides device,
                                      std::size_t itemsize) {
  const std::array pointers{&host, &device};
  collapse(shape, pointers);
  const auto item = static_cast<std::int64_t>(itemsize);
  std::int64_t run = item;
  if (!shape.empty() && host.back() == item && device.back() == item) {
    run *= shape.back();
    for (Dims* dims : {&shape, &host, &device}) dims->pop_back();
  }
  if (shape.size() > 2) return std::nullopt;
  Rectangle r{static_cast<std::size_t>(run), 1, 1, 0, 0, 0, 0};
  std::int64_t least = run;
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

/// Page-locked rows go as they are: straight to the rows of the device if those match, else packed.
bool take_rectangle(const TransferInput& input, const Strides& host, const TransferThresholds& t,
                    TransferPlan& plan) {
  if (plan.packed.strides.size() != host.size() || plan.host.is_dense()) return false;
  if (std::find(host.begin(), host.end(), 0) != host.end()) return false;
  auto straight = rectangle_of(plan.packed.shape, host, plan.device, input.itemsize);
  plan.lands = straight && is_worth_it(*straight, t);
  plan.rectangle = plan.lands
                       ? straight
                       : rectangle_of(plan.packed.shape, host, plan.packed.strides, input.itemsize);
  if (plan.rectangle && is_worth_it(*plan.rectangle, t)) return true;
  plan.rectangle.reset();
  return false;
}

/// Pageable copies below this are the driver's own. It never takes a download without waiting.
std::size_t least_staged(const TransferInput& input, const TransferThresholds& t) {
  if (input.waits) return t.staged_bytes;
  return input.down ? 0 : std::min(t.taken_bytes, t.staged_bytes);
}

Route route_of(const TransferInput& input, const Strides& host, const TransferThresholds& t,
               TransferPlan& plan) {
  const std::size_t small = least_staged(input, t);
  const bool is_drivers = input.page_locked || (plan.bytes < small && !input.split);
  if (plan.host.is_dense() && is_drivers) return Route::direct;
  if (input.page_locked && take_rectangle(input, host, t, plan)) return Route::rectangle;
  if (input.page_locked && input.batches && plan.host.run >= t.piece_bytes) return Route::batch;
  return plan.bytes < small ? Route::packed : Route::staged;
}

}  // namespace

TransferPlan plan_transfer(const TransferInput& input, const TransferThresholds& thresholds) {
  TransferPlan plan{};
  Strides host;
  order_by_host(input, plan, host);
  lay_out_packed(host, input.itemsize, plan);
  const bool lands = plan.device == plan.packed.strides;
  plan.lands = lands;
  plan.route = route_of(input, host, thresholds, plan);
  if (plan.route != Route::rectangle) plan.lands = lands;
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
