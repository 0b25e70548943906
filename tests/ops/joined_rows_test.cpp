// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// Joins along short rows, of drawn shapes and elements: those of loops over coordinates.
namespace quarry {
namespace {

using test::values;

struct Rgb {
  std::uint8_t red, green, blue;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

template <class T>
T element(std::int64_t i) {
  return static_cast<T>(static_cast<int>(i % 120));
}
template <>
Rgb element(std::int64_t i) {
  return {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 7};
}

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  Shape shape(std::int64_t least_rank) {
    Shape shape;
    for (std::int64_t rank = between(least_rank, 5); rank > 0; --rank) {
      shape.push_back(between(1, rank > 3 ? 3 : 7));
    }
    return shape;
  }

 private:
  std::mt19937 random_;
};

using Coordinates = std::vector<std::int64_t>;
Coordinates coordinates(std::int64_t i, const Shape& shape) {
  Coordinates at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) at[d] = i % shape[d];
  return at;
}
std::int64_t number(const Coordinates& at, const Shape& shape) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) i = i * shape[d] + at[d];
  return i;
}
template <class T>
struct Plain {
  Shape shape;
  std::vector<T> elements;
  T at(const Coordinates& c) const { return elements[std::size_t(number(c, shape))]; }
};
template <class T, class F>
std::vector<T> filled(const Shape& shape, const F& element_at) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    result.push_back(element_at(coordinates(i, shape)));
  }
  return result;
}

template <class T>
class JoinedRows : public ::testing::Test {
 protected:
  /// An array with these elements, dense or a part of another.
  DeviceNDArray<T> drawn(Random& random, const Shape& shape, Plain<T>& plain) {
    plain.shape = shape;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      plain.elements.push_back(element<T>(next_++));
    }
    const auto dense = to_device(plain.elements).reshape(shape);
    if (random.between(0, 2) > 0 || shape.empty()) return dense;
    Shape larger = shape;
    const auto d = std::size_t(random.between(0, std::int64_t(shape.size()) - 1));
    larger[d] += 2;
    const DeviceNDArray<T> all_of_it(larger);
    std::vector<Index> part(shape.size(), Index(all));
    part[d] = range(1, shape[d] + 1);
    const auto view = all_of_it(std::span<const Index>(part));
    view.assign(dense);
    return view;
  }

 private:
  std::int64_t next_ = 1;
};
using Elements =
    ::testing::Types<std::int8_t, std::int16_t, float, double, std::complex<double>, Rgb>;
TYPED_TEST_SUITE(JoinedRows, Elements);

TYPED_TEST(JoinedRows, ArraysOneAfterTheOther) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random.shape(1);
    const std::int64_t axis = random.between(0, std::int64_t(shape.size()) - 1);
    const auto d = std::size_t(axis);
    std::vector<Plain<T>> plain;
    std::vector<DeviceNDArray<T>> parts;
    Shape whole = shape;
    whole[d] = 0;
    for (std::int64_t n = random.between(1, 18); n > 0; --n) {
      Shape own = shape;
      own[d] = random.between(0, 5);
      whole[d] += own[d];
      parts.push_back(this->drawn(random, own, plain.emplace_back()));
    }
    EXPECT_EQ(values(concatenate(parts, axis)), filled<T>(whole, [&](Coordinates at) {
                std::size_t k = 0;
                for (; at[d] >= plain[k].shape[d]; ++k) at[d] -= plain[k].shape[d];
                return plain[k].at(at);
              }));
  }
}

TYPED_TEST(JoinedRows, ArraysSideBySide) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random.shape(1);
    const std::int64_t axis = random.between(0, std::int64_t(shape.size()));
    std::vector<Plain<T>> plain(std::size_t(random.between(1, 5)));
    std::vector<DeviceNDArray<T>> parts;
    for (Plain<T>& part : plain) parts.push_back(this->drawn(random, shape, part));
    Shape whole = shape;
    whole.insert(std::size_t(axis), std::int64_t(parts.size()));
    EXPECT_EQ(values(stack(parts, axis)), filled<T>(whole, [&](Coordinates at) {
                const auto k = std::size_t(at[std::size_t(axis)]);
                at.erase(at.begin() + axis);
                return plain[k].at(at);
              }));
  }
}

TYPED_TEST(JoinedRows, RolledAxes) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random.shape(1);
    Plain<T> plain;
    const auto array = this->drawn(random, shape, plain);
    Axes shifts, axes;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (random.between(0, 1) == 0) continue;
      axes.push_back(std::int64_t(d));
      shifts.push_back(random.between(-9, 9));
    }
    if (axes.empty()) continue;
    EXPECT_EQ(values(roll(array, shifts, axes)), filled<T>(shape, [&](Coordinates at) {
                for (std::size_t k = 0; k < axes.size(); ++k) {
                  const auto d = std::size_t(axes[k]);
                  at[d] = ((at[d] - shifts[k]) % shape[d] + shape[d]) % shape[d];
                }
                return plain.at(at);
              }));
  }
}

TYPED_TEST(JoinedRows, RepeatedAxes) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random.shape(1);
    Plain<T> plain;
    const auto array = this->drawn(random, shape, plain);
    Shape counts = Shape::filled(shape.size(), 1), whole = shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (random.between(0, 2) == 0) counts[d] = random.between(0, 3);
      whole[d] *= counts[d];
    }
    if (random.between(0, 1) == 0 && counts[0] == 1) counts.erase(0);
    EXPECT_EQ(values(tile(array, counts)), filled<T>(whole, [&](Coordinates at) {
                for (std::size_t d = 0; d < shape.size(); ++d) at[d] %= shape[d];
                return plain.at(at);
              }));
  }
}

TYPED_TEST(JoinedRows, ValuesAroundAnArray) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random.shape(1);
    const std::size_t rank = shape.size();
    Plain<T> plain;
    const auto array = this->drawn(random, shape, plain);
    std::vector<std::pair<std::int64_t, std::int64_t>> widths;
    std::vector<std::pair<T, T>> given;
    Shape whole = shape;
    for (std::size_t d = 0; d < rank; ++d) {
      widths.emplace_back(random.between(0, 2), random.between(0, 2));
      given.emplace_back(element<T>(random.between(0, 90)), element<T>(random.between(0, 90)));
      whole[d] += widths[d].first + widths[d].second;
    }
    const auto options = std::make_unique<PadOptions<T>>();  // not on the stack: GCC 12 warns
    options->constant_values = given;
    EXPECT_EQ(values(pad(array, widths, *options)), filled<T>(whole, [&](Coordinates at) {
                for (std::size_t d = rank; d-- > 0;) {
                  at[d] -= widths[d].first;
                  if (at[d] < 0) return given[d].first;
                  if (at[d] >= shape[d]) return given[d].second;
                }
                return plain.at(at);
              }));
  }
}

/// Arrays of as many elements as their rows have of each, which begin anywhere.
TYPED_TEST(JoinedRows, ElementsInTurn) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape{random.between(1, 3), random.between(1, 4000)};
    std::vector<Plain<T>> plain;
    std::vector<DeviceNDArray<T>> parts;
    const std::int64_t count = random.between(2, 9);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto part = this->drawn(random, shape, plain.emplace_back());
      const std::int64_t before = random.between(0, 17);
      const DeviceNDArray<T> more(before + part.size());
      const auto view = more(range(before, _)).reshape(shape);
      view.assign(part);
      parts.push_back(view);
    }
    Shape whole = shape;
    whole.push_back(count);
    EXPECT_EQ(values(stack(parts, -1)), filled<T>(whole, [&](const Coordinates& c) {
                return plain[std::size_t(c[2])].at({c[0], c[1]});
              }));
  }
}

TEST(JoinedRowsOfGpus, AreWrittenByOneKernel) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts the fake driver's launches";
  using fake::launches_of;
  const auto a = arange<float>(600).reshape({5, 40, 3}), b = arange<float>(400).reshape({5, 40, 2});
  EXPECT_EQ(launches_of([&] { concatenate({a, b}, 2); }), 1);
  EXPECT_EQ(launches_of([&] { stack({a, a, a}, -1); }), 1);
  EXPECT_EQ(launches_of([&] { roll(a, Axes{1, 2, 1}, Axes{0, 1, 2}); }), 1);
  EXPECT_EQ(launches_of([&] { pad(a, 2); }), 1);
  EXPECT_EQ(launches_of([&] { tile(a, Shape{1, 1, 3}); }), 1);
  const auto kernel_of = [](const auto& work) {
    work();
    return fake::last_kernel();
  };
  const auto u = arange<std::int8_t>(100), v = arange<std::int8_t>(100);
  const auto three = u(range(0, 99)).reshape({33, 3});
  const std::string interleave = "::interleave<", join = "::join<";
  EXPECT_NE(kernel_of([&] { stack({u, v}, -1); }).find(interleave), std::string::npos);
  EXPECT_TRUE(kernel_of([&] { concatenate({three, three}, 1); }).ends_with(", 1, 4, 1>"));
  EXPECT_TRUE(kernel_of([&] { pad(three, 1); }).ends_with(", 1, 4, 2>"));
  EXPECT_TRUE(kernel_of([&] { concatenate({a, b}, 2); }).ends_with(", 1, 4, 1>"));
  // the other elements of a row are moved by copies where they are not dense
  EXPECT_EQ(launches_of([&] { concatenate({a(all, all, range(0, 3, 2)), b}, 2); }), 2);
}

TEST(JoinedRowsOfGpus, LargeOnesHaveWideIndices) {
  if (test::kind() != test::Kind::cuda) GTEST_SKIP() << "needs much memory";
  const std::int64_t rows = std::int64_t{1} << 30;
  const auto a = arange<std::int8_t>(1), b = arange<std::int8_t>(2);
  const auto left = broadcast_to(a, {rows, 1}).copy(), right = broadcast_to(b, {rows, 2}).copy();
  const auto joined = concatenate({right, left}, 1);
  EXPECT_EQ(sum(astype<std::int64_t>(joined)).item(), rows);
  EXPECT_EQ(joined(rows - 1, 1).item(), 1);
}

}  // namespace
}  // namespace quarry
