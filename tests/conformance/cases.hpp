// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "array/model.hpp"

#include <cstring>
#include <span>
#include <string>
#include <string_view>

/// What make_cases.py, make_scalar_cases.py and make_index_cases.py wrote, and the comparison of a
/// result with it.
namespace quarry::conformance {

/// Bytes that are read from the front.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T value() {
    T v;
    std::memcpy(&v, take(sizeof(T)).data(), sizeof(T));
    return v;
  }
  template <class T>
  test::Host<T> array(const test::Ints& shape) {
    test::Host<T> host(shape);
    const auto bytes = take(host.count() * sizeof(T));
    if (!bytes.empty()) std::memcpy(static_cast<void*>(host.data()), bytes.data(), bytes.size());
    return host;
  }
  test::Ints dims() {
    test::Ints list(value<std::uint8_t>());
    for (auto& d : list) d = value<std::int64_t>();
    return list;
  }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> take(std::size_t n);
  std::span<const std::byte> rest_;
};

/// The data of an entry. Throws if there is none.
Reader find(const std::string& key);
bool has(const std::string& key);

template <class T>
std::string name_of() {
  return std::string(dtype_of<T>.name());
}

/// How far a result may be from NumPy's: in units of the last place, and for each element by
/// itself.
struct Tolerance {
  int ulps = 0;
  bool either_zero = false;
  const double* bound = nullptr;
};

/// The first elements that differ, in words; empty if none does.
std::string difference(DType type, const std::byte* got, const std::byte* want, std::size_t count,
                       const Tolerance& tolerance);
/// Reports the first elements that differ, and how many do. NaNs are equal; zeros differ by their
/// sign.
void expect_close(DType type, const std::byte* got, const std::byte* want, std::size_t count,
                  const Tolerance& tolerance, const std::string& what);

/// The same array in memory of another layout, chosen by `kind`: dense, in Fortran order, every
/// second element of a larger array, reversed.
template <class T>
DeviceNDArray<T> laid_out(const test::Host<T>& host, int kind) {
  const Shape shape = test::as_shape(host.shape());
  Shape larger = shape;
  larger[shape.size() - 1] *= 2;
  DeviceNDArray<T> result;
  switch (kind) {
    case 0:
      result = device_array<T>(shape);
      break;
    case 1:
      result = device_array<T>(shape, {.order = Order::f});
      break;
    case 2:
      result = device_array<T>(larger)(ellipsis, range(1, _, 2));
      break;
    default:
      result = device_array<T>(shape)(range(_, _, -1), ellipsis);
      break;
  }
  result.copy_to_device(host);
  return result;
}

/// Compares `e`, which may be of any type, with the entry at `key`.
template <class E>
void expect_case(const std::string& key, const E& e, const test::Ints& shape) {
  using T = typename E::value_type;
  Reader r = find(key);
  const auto id = static_cast<TypeId>(r.value<std::uint8_t>());
  ASSERT_TRUE(DType(id) == dtype_of<T>) << key << ": NumPy gives " << to_string(id);
  Tolerance tolerance{r.value<std::uint16_t>(), false, nullptr};
  tolerance.either_zero = r.value<std::uint8_t>() != 0;
  const auto want = r.array<T>(shape);
  ASSERT_TRUE(r.at_end());
  const auto got = test::read(eval(e));
  expect_close(dtype_of<T>, reinterpret_cast<const std::byte*>(got.data()),
               reinterpret_cast<const std::byte*>(want.data()), want.count(), tolerance, key);
}

/// The inputs of a case: those of its types, or its own.
inline Reader inputs_of(const std::string& key, const std::string& types) {
  return find(has("in:" + key) ? "in:" + key : "in/" + types);
}
/// The layouts to try. On a GPU each costs the compilation of a kernel.
inline std::vector<int> layouts() {
  return test::kind_is_slow() ? std::vector{0, 2} : std::vector{0, 1, 2, 3};
}
inline bool refused(const std::string& key) { return find(key).value<std::uint8_t>() == 255; }

inline const test::Ints unary_shape{4, 6, 3}, binary_shape{8, 4, 3};

template <class Op, class... T>
inline constexpr bool exists = Op::domain::template loop<dtype_of<T>.id()...>() != domains::no_loop;

/// Operation `Op`, called by `f`, on every layout of the inputs of type T.
template <class Op, class T, class F>
void check_unary(F f) {
  const std::string type = name_of<T>(), key = std::string(Op::name) + '/' + type;
  if constexpr (!exists<Op, T>) {
    EXPECT_TRUE(refused(key)) << key;
  } else {
    ASSERT_FALSE(refused(key)) << key << " is refused by NumPy";
    const auto host = inputs_of(key, type).array<T>(unary_shape);
    for (const int layout : layouts()) {
      expect_case(key, f(laid_out(host, layout)), unary_shape);
    }
  }
}

template <class Op, class A, class B, class F>
void check_binary(F f, const test::Ints& shape = binary_shape) {
  const std::string types = name_of<A>() + '/' + name_of<B>();
  const std::string key = std::string(Op::name) + '/' + types;
  if constexpr (!exists<Op, A, B>) {
    EXPECT_TRUE(refused(key)) << key;
  } else {
    ASSERT_FALSE(refused(key)) << key << " is refused by NumPy";
    Reader in = inputs_of(key, types);
    const auto a = in.array<A>(shape);
    const auto b = in.array<B>(shape);
    for (const int layout : layouts()) {
      expect_case(key, f(laid_out(a, layout), laid_out(b, layout == 1 ? 3 : 0)), shape);
    }
  }
}

}  // namespace quarry::conformance
