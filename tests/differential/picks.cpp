// SPDX-License-Identifier: BSD-3-Clause
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

using Positions = DeviceNDArray<std::int64_t>;

/// An index of at most three entries, of which at most two are arrays.
class Entries {
 public:
  explicit Entries(const Step& s) : plain_(entries_of(s.arguments[0])) {
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      if (s.arguments[0][4 * i] != 4) continue;
      at_.push_back(i);
      const Array& array = s.operands.at(at_.size());
      if (const auto* wide = std::get_if<Positions>(&array)) {
        arrays_.push_back(*wide);
      } else {
        arrays_.push_back(std::get<DeviceNDArray<std::int32_t>>(array).astype<std::int64_t>());
      }
    }
  }
  /// Calls f with the entries.
  template <class F, class... Done>
  void call(const F& f, const Done&... done) const {
    constexpr std::size_t arrays = (0 + ... + std::size_t{!std::is_same_v<Done, Index>});
    if (sizeof...(done) == plain_.size()) {
      if constexpr (arrays > 0) return f(done...);
    }
    if constexpr (sizeof...(done) < 3) {
      const std::size_t place = sizeof...(done);
      if (arrays < at_.size() && at_[arrays] == place) {
        if constexpr (arrays < 2) return call(f, done..., arrays_[arrays]);
      } else {
        return call(f, done..., plain_.at(place));
      }
    }
    throw NotCompiled("an index of other entries");
  }

 private:
  std::vector<Index> plain_;
  std::vector<std::size_t> at_;
  std::vector<Positions> arrays_;
};

/// Of the types that are computed with.
void pick_computed(const Step& s, Outcome& out) {
  const Entries entries(s);
  with(Added(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    entries.call([&](const auto&... e) {
      const auto values = [&]() -> const DeviceNDArray<T>& {
        return std::get<DeviceNDArray<T>>(s.operands.back());
      };
      named(s, "twice", [&] { out.add(a(e...) * 2 + a(e...)); }) ||
          named(s, "fill", [&] { a(e...) = s.scalar<T>(); }) ||
          named(s, "update", [&] { a(e...) += values(); }) ||
          named(s, "add_at", [&] { add_at(a(e...), values()); });
    });
  });
}
void pick_step(const Step& s, Outcome& out) {
  if (s.name != "read" && s.name != "write") return pick_computed(s, out);
  const Entries entries(s);
  with(Picked(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    entries.call([&](const auto&... e) {
      if (s.name == "read") {
        out.add(a(e...));
      } else {
        a(e...) = std::get<DeviceNDArray<T>>(s.operands.back());
      }
    });
  });
}

/// Entries of any kind in a list that is known at run time only.
std::vector<IndexEntry> list_of(const Step& s) {
  const Ints& codes = s.arguments[0];
  const std::vector<Index> plain = entries_of(codes);
  std::vector<IndexEntry> list;
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (codes[4 * i] == 5) {
      list.emplace_back(codes[4 * i + 1] != 0);
    } else if (codes[4 * i] == 4) {
      with(Types<bool, std::int32_t, std::int64_t>(), s.operands.at(++arrays),
           [&](const auto& array) { list.emplace_back(array); });
    } else {
      list.emplace_back(plain[i]);
    }
  }
  return list;
}
void listed_step(const Step& s, Outcome& out) {
  const std::vector<IndexEntry> list = list_of(s);
  const auto values = [&]<class T>(const DeviceNDArray<T>&) -> const DeviceNDArray<T>& {
    return std::get<DeviceNDArray<T>>(s.operands.back());
  };
  if (s.name == "read" || s.name == "write") {
    return with(Picked(), s.operands[0], [&](const auto& a) {
      if (s.name == "read") {
        out.add(a(list));
      } else {
        a(list) = values(a);
      }
    });
  }
  with(Added(), s.operands[0], [&]<class T>(const DeviceNDArray<T>& a) {
    named(s, "fill", [&] { a(list) = s.scalar<T>(); }) ||
        named(s, "update", [&] { a(list) += values(a); }) ||
        named(s, "add_at", [&] { add_at(a(list), values(a)); }) || (throw_unnamed(s), true);
  });
}

}  // namespace

void add_picks(Operations& all) {
  all["pick"] = pick_step;
  all["listed"] = listed_step;
}

}  // namespace quarry::differential
