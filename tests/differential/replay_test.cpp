// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "conformance/cases.hpp"
#include "differential/replay.hpp"

namespace quarry::differential {
namespace {

using conformance::Reader;

const Operations& operations() {
  static const Operations all = [] {
    Operations table;
    for (const auto add : {add_views, add_elementwise, add_reductions, add_assignments, add_masks,
                           add_picks, add_takes, add_shapes}) {
      add(table);
    }
    return table;
  }();
  return all;
}

/// What memory a result has: machine.py, which has the numbers.
enum class Memory : std::uint8_t { shared, fresh, copied, ordered };

std::string read_text(Reader& r) {
  const auto list = r.array<char>({r.value<std::uint32_t>()}).list();
  return {list.begin(), list.end()};
}
std::string read_name(Reader& r) {
  const auto list = r.array<char>({r.value<std::uint8_t>()}).list();
  return {list.begin(), list.end()};
}

/// Calls f.operator()<T>() with the type of this number.
template <class... T, class F>
void visit_type(Types<T...>, std::size_t id, const F& f) {
  std::size_t k = 0;
  ((k++ == id ? f.template operator()<T>() : void()), ...);
}

/// As conformance::difference, for numbers and for records, whose fields are compared.
template <class T>
std::string difference(const T* got, const T* want, std::size_t count,
                       const conformance::Tolerance& tolerance) {
  if constexpr (Number<T>) {
    return conformance::difference(dtype_of<T>, reinterpret_cast<const std::byte*>(got),
                                   reinterpret_cast<const std::byte*>(want), count, tolerance);
  } else if constexpr (std::same_as<T, Particle>) {
    std::string text;
    for (std::size_t i = 0; i < count && text.empty(); ++i) {
      text = difference(&got[i].mass, &want[i].mass, 1, tolerance) +
             difference(got[i].pos, want[i].pos, 3, tolerance) +
             difference(&got[i].id, &want[i].id, 1, tolerance);
    }
    return text;
  } else {
    return std::memcmp(got, want, count * sizeof(T)) == 0 ? "" : " other bytes";
  }
}

/// The registers of a program, and the differences from NumPy that it has shown.
class Replay {
 public:
  explicit Replay(Reader r) : reader_(std::move(r)) {}

  /// What is wrong first, or nothing.
  std::string run() {
    listing_ = read_text(reader_);
    int inputs = reader_.value<std::uint8_t>();
    for (int k = 0; k < inputs; ++k) registers_[k] = read_input();
    int steps = reader_.value<std::uint8_t>();
    for (int k = 0; k < steps && wrong_.empty(); ++k) {
      step();
      if (!wrong_.empty()) wrong_ = "step " + std::to_string(k + 1) + ": " + wrong_;
    }
    return wrong_;
  }
  const std::string& listing() const { return listing_; }

 private:
  Array read_input() {
    Array result;
    visit_type(Everything(), reader_.value<std::uint8_t>(), [&]<class T>() {
      const Ints shape = reader_.dims();
      std::vector<Index> steps;
      for (const std::int64_t s : reader_.dims()) steps.push_back(range(_, _, s));
      const Ints axes = reader_.dims();
      const auto base = to_device(reader_.array<T>(shape));
      result = base(std::span<const Index>(steps)).transpose(test::as_shape(axes));
    });
    return result;
  }

  void step() {
    const std::string name = read_name(reader_);
    const auto slash = std::min(name.find('/'), name.size());
    Step s{name.substr(std::min(slash + 1, name.size())), {}, {}};
    for (const std::int64_t k : reader_.dims()) s.operands.push_back(registers_.at(int(k)));
    for (auto n = reader_.value<std::uint8_t>(); n > 0; --n) s.arguments.push_back(reader_.dims());
    const bool refused = reader_.value<std::uint8_t>() != 0;
    const std::size_t created = reader_.value<std::uint8_t>();
    const std::size_t wants = reader_.value<std::uint8_t>();
    Outcome outcome;
    const std::string thrown = error_of(operations().at(name.substr(0, slash)), s, outcome);
    if (refused != !thrown.empty()) {
      complain(refused ? "NumPy refuses, nothing is thrown" : "throws " + thrown);
    } else if (outcome.arrays.size() != created) {
      complain(std::to_string(outcome.arrays.size()) + " results for " + std::to_string(created));
    }
    for (std::size_t i = 0; i < wants && wrong_.empty(); ++i) {
      const int k = reader_.value<std::uint16_t>();
      if (i < created) registers_[k] = outcome.arrays[i];
      compare(k);
    }
    if (!wrong_.empty()) return;
    const std::string text = read_text(reader_);
    if (text != outcome.text) complain("the text is\n" + outcome.text + "\nfor\n" + text);
  }
  static std::string error_of(Operation operation, const Step& s, Outcome& outcome) {
    try {
      operation(s, outcome);
      return "";
    } catch (const LogicError& e) {
      return e.what();
    }
  }

  /// Register k with what NumPy has in it; where that is rounded otherwise NumPy's values are
  /// taken, so that what follows is the same again.
  void compare(int k) {
    Array& array = registers_.at(k);
    const std::size_t id = reader_.value<std::uint8_t>();
    const Ints shape = reader_.dims();
    conformance::Tolerance tolerance{reader_.value<std::uint16_t>(),
                                     reader_.value<std::uint8_t>() != 0, nullptr};
    const auto memory = static_cast<Memory>(reader_.value<std::uint8_t>());
    std::vector<double> bounds;
    if (reader_.value<std::uint8_t>() != 0) bounds = reader_.array<double>(shape).list();
    if (!bounds.empty()) tolerance.bound = bounds.data();
    const Ints strides = memory == Memory::ordered ? reader_.dims() : Ints{};
    const std::string what = "r" + std::to_string(k);
    if (id != array.index()) return complain(what + " is of another type than NumPy's");
    visit_type(Everything(), id, [&]<class T>() {
      auto& a = std::get<DeviceNDArray<T>>(array);
      const auto want = reader_.array<T>(shape);
      if (a.shape() != test::as_shape(shape)) {
        return complain(what + " has shape " + to_string(a.shape()) + " for " +
                        to_string(test::as_shape(shape)));
      }
      for (std::size_t d = 0; d < strides.size() && a.size() > 0; ++d) {
        if (shape[d] == 1 || a.strides()[d] == strides[d]) continue;
        return complain(what + " has strides " + to_string(a.strides()) + " for " +
                        to_string(test::as_shape(strides)));
      }
      const auto got = test::read(a);
      const bool other_order = memory == Memory::fresh && !a.is_c_contiguous();
      if (memory == Memory::copied || other_order) a = a.copy();
      if (std::memcmp(got.data(), want.data(), want.count() * sizeof(T)) == 0) return;
      const std::string text = difference(got.data(), want.data(), want.count(), tolerance);
      if (!text.empty()) return complain(what + " differs:" + text);
      a.copy_to_device(want);
    });
  }
  void complain(const std::string& text) {
    if (wrong_.empty()) wrong_ = text;
  }

  Reader reader_;
  std::string listing_, wrong_;
  std::map<int, Array> registers_;
};

std::vector<std::byte> contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Replays the programs of a file: of QUARRY_DRAWN_PROGRAMS, or those that are stored beside this
/// one. run.py reads the lines that begin with "program" and "no memory".
TEST(Differential, ProgramsAreNumPys) {
  const char* drawn = std::getenv("QUARRY_DRAWN_PROGRAMS");
  const auto path = drawn ? drawn : std::filesystem::path(__FILE__).parent_path() / "programs.bin";
  const auto bytes = contents(path);
  int count = 0, wrong = 0, starved = 0;
  for (Reader file{bytes}; !file.at_end(); ++count) {
    const auto program = file.array<std::byte>({file.value<std::uint32_t>()});
    Replay replay{Reader({program.data(), program.count()})};
    std::string text;
    try {
      text = replay.run();
    } catch (const MemoryError& e) {
      std::printf("no memory: %s\n", e.what());
      ++starved;
      continue;
    } catch (const std::exception& e) {
      text = std::string("throws ") + e.what();
    }
    if (text.empty()) continue;
    std::printf("program %d: %s\n", count, text.substr(0, text.find('\n')).c_str());
    if (++wrong <= 3) ADD_FAILURE() << replay.listing() << '\n' << text;
  }
  EXPECT_EQ(wrong, 0) << "of " << count << " programs";
  EXPECT_EQ(starved, 0) << "programs had no memory";
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace quarry::differential
