// SPDX-License-Identifier: BSD-3-Clause
#include "lifetimes/host_view.hpp"
#include "lifetimes/scene.hpp"

#include <algorithm>

namespace quarry::test {
namespace {

int across(int i) {  // the value at position i of a transposed ramp
  constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
  return i % r * k + i / r;
}

// --- on the device
// -----------------------------------------------------------------------------------

Later copied(Scene& t) {
  return later(t.array(1).copy(), [](int i) { return 1 + i; });
}
Later copied_transposed(Scene& t) { return later(t.array(0).transpose().copy(), across); }
Later assigned_array(Scene& t) {
  const Array out = t.array(0);
  out.assign(t.array(1));
  return later(out, [](int i) { return 1 + i; });
}
Later assigned_broadcast(Scene& t) {
  const Array out = t.array(0);
  out(all) = t.array(5, {columns});
  return later(out, [](int i) { return 5 + i % static_cast<int>(columns); });
}
Later assigned_to_itself(Scene& t) {
  const Array out = t.array(0, {elements});
  out(range(1, _)) = out(range(_, -1));
  return later(out, [](int i) { return std::max(0, i - 1); });
}
Later reshaped(Scene& t) { return later(t.array(0).transpose().reshape({-1}), across); }
Later flattened(Scene& t) {
  return later(t.array(2).flatten(), [](int i) { return 2 + i; });
}
Later copied_to_device(Scene& t) {
  const Array out = t.array(0);
  out.copy_to_device(t.array(3), t.held);
  return later(out, [](int i) { return 3 + i; });
}
Later copied_and_converted(Scene& t) {
  const auto out = t.floats(0);
  out.copy_to_device(t.array(3).astype<std::int16_t>(), t.held);
  return later(out, [](int i) { return 3 + i; });
}
Later copied_misaligned(Scene& t) {
  return later(t.misaligned(2).copy(), [](int i) { return 2 + i; });
}

// --- from the host
// -----------------------------------------------------------------------------------

/// Pageable memory may be used again at once.
template <class H, class Upload>
void upload_and_overwrite(H host, Upload upload) {
  upload(host);
  std::fill(host.begin(), host.end(), static_cast<typename H::value_type>(poison));
}

Later uploaded(Scene& t) {
  Array out;
  upload_and_overwrite(ramp(1), [&](const Values& h) { out = to_device(h, t.held); });
  return later(out, [](int i) { return 1 + i; });
}
Later uploaded_small(Scene& t) {
  Array out;
  upload_and_overwrite(ramp(1, 20), [&](const Values& h) { out = to_device(h, t.held); });
  return later(out, [](int i) { return 1 + i; });
}
Later uploaded_into(Scene& t) {
  const Array out = t.array(0);
  upload_and_overwrite(ramp(1), [&](const Values& h) { out.copy_to_device(h, t.held); });
  return later(out, [](int i) { return 1 + i; });
}
Later uploaded_into_steps(Scene& t) {
  const Array out = t.array(0, {2 * elements}), part = out(range(_, _, 2));
  upload_and_overwrite(ramp(1), [&](const Values& h) { part.copy_to_device(h, t.held); });
  return later(out, [](int i) { return i % 2 == 0 ? 1 + i / 2 : i; });
}
Later uploaded_transposed(Scene& t) {
  const Array out = t.array(0, {columns, rows});
  upload_and_overwrite(ramp(0), [&](Values& h) {
    out.copy_to_device(HostView<int>::transposed(h, rows, columns), t.held);
  });
  return later(out, across);
}
Later uploaded_and_converted(Scene& t) {
  const auto out = t.floats(0);
  const Values from = ramp(1);
  upload_and_overwrite(std::vector<std::int16_t>(from.begin(), from.end()),
                       [&](const auto& h) { out.copy_to_device(h, t.held); });
  return later(out, [](int i) { return 1 + i; });
}
Later uploaded_page_locked(Scene& t) {
  const Array out = t.array(0);
  out.copy_to_device(t.pinned(1), t.held);
  return later(out, [](int i) { return 1 + i; });
}
Later uploaded_page_locked_in_steps(Scene& t) {
  const Array out = t.array(0, {columns, rows});
  Pinned from = t.pinned(0);
  out.copy_to_device(HostView<int>::transposed(from, rows, columns), t.held);
  return later(out, across);
}
/// More than the staging pool has room for, in several pieces.
Later uploaded_often(Scene& t) {
  const Array out = t.array(0, {6 * elements});
  for (int k = 0; k < 6; ++k) {
    const Array part = out(range(k * elements, (k + 1) * elements));
    upload_and_overwrite(ramp(k), [&](const Values& h) { part.copy_to_device(h, t.held); });
  }
  return later(
      out, [](int i) { return i / static_cast<int>(elements) + i % static_cast<int>(elements); });
}

// --- to the host
// -------------------------------------------------------------------------------------

template <class H = Values>
std::shared_ptr<H> host_memory(std::int64_t count = elements) {
  return std::make_shared<H>(static_cast<std::size_t>(count));
}

Later downloaded(Scene& t) {
  const auto to = host_memory();
  t.array(1).copy_to_host(*to, t.held);
  return later(to, [](int i) { return 1 + i; });
}
Later downloaded_small(Scene& t) {
  const auto to = host_memory(20);
  t.array(1, {20}).copy_to_host(*to, t.held);
  return later(to, [](int i) { return 1 + i; });
}
Later downloaded_in_steps(Scene& t) {
  const auto to = host_memory();
  t.array(0, {2 * elements})(range(_, _, 2)).copy_to_host(*to, t.held);
  return later(to, [](int i) { return 2 * i; });
}
Later downloaded_transposed(Scene& t) {
  const auto to = host_memory();
  t.array(0, {columns, rows}).copy_to_host(HostView<int>::transposed(*to, rows, columns), t.held);
  return later(to, [](int i) {
    constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
    return i % k * r + i / k;
  });
}
Later downloaded_and_converted(Scene& t) {
  const auto to = host_memory<std::vector<double>>();
  t.floats(1).copy_to_host(*to, t.held);
  return later(to, [](int i) { return 1 + i; });
}
Later downloaded_page_locked(Scene& t) {
  const auto to = host_memory<Pinned>();
  t.array(1).copy_to_host(*to, t.held);
  return later(to, [](int i) { return 1 + i; });
}
/// The slots that one of them goes through are not those of the other.
Later downloaded_by_two_streams(Scene& t) {
  const auto first = host_memory(), second = host_memory();
  t.array(1).copy_to_host(*first, t.held);
  t.array(2).copy_to_host(*second, t.other);
  const auto seen = [first, second, other = t.other] {
    other.synchronize();
    Values sums = *first;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += (*second)[i];
    return sums;
  };
  return {seen, each([](int i) { return 3 + 2 * i; }), false};
}
Later downloaded_into_dropped(Scene& t) {
  Pinned to = t.pinned(0);
  t.array(1).copy_to_host(to, t.held);
  return {[] { return Values{}; }, {}};
}

}  // namespace

std::vector<EntryPoint> copy_entries() {
  return {{"Copied", copied},
          {"CopiedTransposed", copied_transposed},
          {"AssignedArray", assigned_array},
          {"AssignedBroadcast", assigned_broadcast},
          {"AssignedToItself", assigned_to_itself},
          {"Reshaped", reshaped},
          {"Flattened", flattened},
          {"CopiedToDevice", copied_to_device},
          {"CopiedAndConverted", copied_and_converted},
          {"CopiedMisaligned", copied_misaligned}};
}

std::vector<EntryPoint> host_entries() {
  return {{"Uploaded", uploaded},
          {"UploadedSmall", uploaded_small},
          {"UploadedInto", uploaded_into},
          {"UploadedIntoSteps", uploaded_into_steps},
          {"UploadedTransposed", uploaded_transposed},
          {"UploadedAndConverted", uploaded_and_converted},
          {"UploadedPageLocked", uploaded_page_locked},
          {"UploadedPageLockedInSteps", uploaded_page_locked_in_steps},
          {"UploadedOften", uploaded_often},
          {"Downloaded", downloaded},
          {"DownloadedSmall", downloaded_small},
          {"DownloadedInSteps", downloaded_in_steps},
          {"DownloadedTransposed", downloaded_transposed},
          {"DownloadedAndConverted", downloaded_and_converted},
          {"DownloadedPageLocked", downloaded_page_locked},
          {.name = "DownloadedByTwoStreams",
           .queue = downloaded_by_two_streams,
           .blocks = Blocks::on_a_gpu},
          {"DownloadedIntoDropped", downloaded_into_dropped}};
}

}  // namespace quarry::test
