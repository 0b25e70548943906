// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <Eigen/Core>
#include <complex>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "array/model.hpp"

/// Programs that machine.py has drawn and computed with NumPy: steps on registers, which are
/// arrays. What a step does is looked up by its name; its types are compiled for a fixed list.
namespace quarry::differential {

using test::Ints;

struct Particle {
  double mass;
  float pos[3];
  std::int32_t id;
};
QUARRY_RECORD(Particle, mass, pos, id);
struct Pixel {
  std::uint8_t r, g, b;
};
QUARRY_RECORD(Pixel, r, g, b);

template <class... T>
struct Types {
  using array = std::variant<DeviceNDArray<T>...>;
};
/// In the order of machine.py's NAMES.
using Everything =
    Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint64_t,
          float, double, std::complex<float>, Particle, Pixel, Eigen::half>;
using Array = Everything::array;
// as in draw.py
using Computed = Types<std::int32_t, std::uint8_t, float, double>;
using Floating = Types<float, double>;
using Moved = Types<std::int32_t, double, std::complex<float>, Particle, Pixel, Eigen::half>;
using Masked = Types<std::int32_t, std::uint8_t, float, double, Particle, Eigen::half>;
using Picked = Types<std::int32_t, double, Pixel, Eigen::half>;
using Added = Types<std::int32_t, double>;

/// A step that draw.py draws and no table has: an error of the test itself.
struct NotCompiled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls f with the array if it is one of these types.
template <class... T, class F>
void with(Types<T...>, const Array& array, const F& f) {
  const auto called = [&]<class U>(const DeviceNDArray<U>* a) {
    if (a) f(*a);
    return a != nullptr;
  };
  if (!(called(std::get_if<DeviceNDArray<T>>(&array)) || ...)) {
    const DType type = std::visit([](const auto& a) { return a.dtype(); }, array);
    throw NotCompiled("no step for elements of type " + std::string(type.name()));
  }
}

struct Step {
  std::string name;  ///< behind the slash
  std::vector<Array> operands;
  std::vector<Ints> arguments;

  template <class T>
  const DeviceNDArray<T>& get(std::size_t i) const {
    return std::get<DeviceNDArray<T>>(operands.at(i));
  }
  std::int64_t number(std::size_t i) const { return arguments.at(i).at(0); }
  Axes axes(std::size_t i) const { return test::as_shape(arguments.at(i)); }
  /// The last argument as a number of type T.
  template <class T>
  T scalar() const {
    return static_cast<T>(arguments.back().at(0));
  }
};

/// What a step gives: new arrays, or a text.
struct Outcome {
  std::vector<Array> arrays;
  std::string text;

  template <class T>
  void add(const DeviceNDArray<T>& a) {
    if constexpr (std::is_const_v<T>) {
      arrays.emplace_back(a.copy());
    } else {
      arrays.emplace_back(a);
    }
  }
  template <Expression E>
  void add(const E& e) {
    add(eval(e));
  }
};

using Operation = void (*)(const Step&, Outcome&);
using Operations = std::map<std::string, Operation>;
///@{
/// The operations of a file, by the part of the name before the slash.
void add_views(Operations&);
void add_elementwise(Operations&);
void add_reductions(Operations&);
void add_assignments(Operations&);
void add_masks(Operations&);
void add_picks(Operations&);
void add_takes(Operations&);
void add_shapes(Operations&);
///@}
/// Calls f if the names are the same, and says so.
template <class F>
bool named(const Step& step, const char* name, const F& f) {
  if (step.name != name) return false;
  f();
  return true;
}
[[noreturn]] inline void throw_unnamed(const Step& step) {
  throw NotCompiled("no step " + step.name);
}
/// Index entries as operations.py codes them; an array has kind 4.
std::vector<Index> entries_of(const Ints& codes);

}  // namespace quarry::differential
