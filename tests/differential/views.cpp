// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

void index_step(const Step& s, Outcome& out) {
  const std::vector<Index> entries = entries_of(s.arguments[0]);
  std::visit([&](const auto& a) { out.add(a(std::span<const Index>(entries))); }, s.operands[0]);
}

template <class T>
DeviceNDArray<T> view_of(const Step& s, const DeviceNDArray<T>& a) {
  const auto order = [](std::int64_t n) { return n == 0 ? Order::c : Order::f; };
  if (s.name == "transpose") return a.transpose(s.axes(0));
  if (s.name == "swapaxes") return swapaxes(a, s.arguments[0].at(0), s.arguments[0].at(1));
  if (s.name == "flip") return flip(a, s.axes(0));
  if (s.name == "ravel") return a.ravel(order(s.number(0)));
  if (s.name == "copy") return a.copy();
  if (s.name == "reshape") return a.reshape(s.axes(0), order(s.number(1)));
  throw_unnamed(s);
}
void view_step(const Step& s, Outcome& out) {
  std::visit([&](const auto& a) { out.add(view_of(s, a)); }, s.operands[0]);
}

void field_step(const Step& s, Outcome& out) {
  const auto add = [&]<class T>(const DeviceNDArray<T>& field) { out.add(field); };
  if (s.name == "mass") return add(s.get<Particle>(0).field<&Particle::mass>());
  if (s.name == "pos") return add(s.get<Particle>(0).field<"pos">());
  if (s.name == "id") return add(DeviceNDArray<std::int32_t>(s.get<Particle>(0).field("id")));
  add(DeviceNDArray<std::uint8_t>(s.get<Pixel>(0).field(s.name)));
}

void print_step(const Step& s, Outcome& out) {
  std::visit([&](const auto& a) { out.text = to_string(a); }, s.operands[0]);
}

/// The bytes of the file; what is read from it again is the same.
void save_step(const Step& s, Outcome& out) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("quarry_differential_" + std::to_string(getpid()) + ".npy");
  std::visit(
      [&]<class T>(const DeviceNDArray<T>& a) {
        save_npy(path.string(), a);
        std::ifstream in(path, std::ios::binary);
        out.text = {std::istreambuf_iterator<char>(in), {}};
        save_npy(path.string(), to_device(load_npy<T>(path.string())));
        std::ifstream again(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(again), {}};
        if (text != out.text) out.text = "read again: " + text;
      },
      s.operands[0]);
  std::filesystem::remove(path);
}

void join_step(const Step& s, Outcome& out) {
  with(Moved(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    const auto both = [&] { return std::vector{a, s.get<T>(1)}; };
    named(s, "concatenate", [&] { out.add(concatenate(both(), s.number(0))); }) ||
        named(s, "stack", [&] { out.add(stack(both(), s.number(0))); }) ||
        named(s, "repeat", [&] { out.add(repeat(a, s.number(0), s.number(1))); }) ||
        named(s, "roll", [&] { out.add(roll(a, s.number(0), s.number(1))); }) ||
        (throw_unnamed(s), true);
  });
}

}  // namespace

std::vector<Index> entries_of(const Ints& codes) {
  constexpr std::int64_t missing = 99;
  const auto bound = [](std::int64_t v) { return v == missing ? Bound(_) : Bound(v); };
  std::vector<Index> entries;
  for (std::size_t i = 0; i + 4 <= codes.size(); i += 4) {
    switch (codes[i]) {
      case 0:
        entries.emplace_back(codes[i + 1]);
        break;
      case 2:
        entries.emplace_back(newaxis);
        break;
      case 3:
        entries.emplace_back(ellipsis);
        break;
      default:
        entries.emplace_back(range(bound(codes[i + 1]), bound(codes[i + 2]), codes[i + 3]));
        break;
    }
  }
  return entries;
}

void add_views(Operations& all) {
  all["index"] = index_step;
  all["view"] = view_step;
  all["field"] = field_step;
  all["print"] = print_step;
  all["save"] = save_step;
  all["join"] = join_step;
}

}  // namespace quarry::differential
