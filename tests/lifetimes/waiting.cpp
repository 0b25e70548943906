// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>

#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "lifetimes/scene.hpp"

/// Ways to the host that wait for the work that is queued.
namespace quarry::test {
namespace {

Array pending(Scene& t) { return t.array(1) + t.array(100); }
int pending_at(int i) { return 101 + 2 * i; }

Later gives_item(Scene& t) {
  const auto s = sum(t.array(1));
  return {[s] { return Values{static_cast<int>(s.item())}; },
          {static_cast<int>(elements * (elements + 1) / 2)}};
}
Later downloads(Scene& t) { return later(pending(t), pending_at); }
Later downloads_small(Scene& t) {
  const Array c = t.array(1, {20}) + t.array(2, {20});
  return later(c, [](int i) { return 3 + 2 * i; });
}
Later downloads_transposed(Scene& t) {
  const Array c = pending(t).transpose();
  return later(c, [](int i) {
    constexpr int r = static_cast<int>(rows), k = static_cast<int>(columns);
    return pending_at(i % r * k + i / r);
  });
}
Later downloads_and_converts(Scene& t) {
  const auto c = pending(t);
  const auto seen = [c] {
    std::vector<double> host(elements);
    c.copy_to_host(host);
    return Values(host.begin(), host.end());
  };
  return {seen, each(pending_at)};
}
Later prints(Scene& t) {
  const Array c = t.array(1, {6}) + 1;
  const auto seen = [c] {
    std::ostringstream out;
    out << c;
    std::istringstream text(out.str().substr(1));
    Values values(6);
    for (int& value : values) text >> value;
    return values;
  };
  return {seen, ramp(2, 6)};
}
Later saves(Scene& t) {
  const Array c = pending(t);
  const auto seen = [c] {
    std::string folder = (std::filesystem::temp_directory_path() / "quarry-XXXXXX").string();
    if (!mkdtemp(folder.data())) return Values{};
    save_npy(folder + "/c.npy", c);
    const auto array = load_npy<int>(folder + "/c.npy");
    std::filesystem::remove_all(folder);
    return Values(array.data(), array.data() + elements);
  };
  return {seen, each(pending_at)};
}
Later goes_to_the_cpu(Scene& t) {
  const Array c = pending(t);
  return {[c] { return values_of(to_device(c, Device::cpu())); }, each(pending_at)};
}
/// The memory of the CPU device, which its own stream still writes.
Later comes_from_the_cpu(Scene& t) {
  const Stream there = stream({.device = Device::cpu()});
  auto c = to_device(ramp(1), ArrayOptions{.stream = there});
  {
    const StreamGuard guard(there);
    c += 1;
  }
  if (Device().is_cpu()) there.synchronize();  // on one device the program orders its streams
  const Array out = t.array(0, {elements});
  return {[c, out] {
            out.copy_to_device(c);
            return values_of(out);
          },
          ramp(2)};
}
Later uploads_behind_work(Scene& t) {
  const Array out = t.array(0).bind(t.held);
  out.fill(poison);
  return {[out] {
            out.copy_to_device(ramp(5));
            return values_of(out);
          },
          ramp(5)};
}

}  // namespace

std::vector<EntryPoint> waiting_entries() {
  std::vector<EntryPoint> all = {{"GivesItem", gives_item},
                                 {"Downloads", downloads},
                                 {"DownloadsSmall", downloads_small},
                                 {"DownloadsTransposed", downloads_transposed},
                                 {"DownloadsAndConverts", downloads_and_converts},
                                 {"Prints", prints},
                                 {"Saves", saves},
                                 {"GoesToTheCpu", goes_to_the_cpu},
                                 {"ComesFromTheCpu", comes_from_the_cpu},
                                 {"UploadsBehindWork", uploads_behind_work}};
  for (EntryPoint& entry : all) entry.waits = true;
  return all;
}

}  // namespace quarry::test
