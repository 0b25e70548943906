// SPDX-License-Identifier: BSD-3-Clause
#include "expr/bands.hpp"

#include <gtest/gtest.h>

#include "array/model.hpp"
#include "expr/aligned.hpp"

namespace quarry::expr {
namespace {

using test::Random;
using test::values;

/// out = a + b, element by element.
using Sum =
    kernels::map_of<kernels::op<kernels::add_op, int, kernels::in<int, 0>, kernels::in<int, 1>>,
                    int, 0, int, int>;
const kernels::program& sum = kernels::program_for<Sum>::value;

/// Evaluates out = a + b in bands if they are safe, and says whether they were.
bool add_in_bands(const DeviceNDArray<int>& out, const DeviceNDArray<int>& a,
                  const DeviceNDArray<int>& b, std::int64_t band_bytes) {
  const DeviceNDArrayBase* const arrays[] = {&a, &b};
  const bool conflicting[] = {true, true};
  const auto bands = plan_bands(out, arrays, conflicting, band_bytes);
  if (bands) evaluate_in_bands(*bands, sum, out, arrays, nullptr, out.stream());
  return bands.has_value();
}

TEST(Bands, OfRandomViewsOfOneArrayAreAsIfThroughATemporary) {
  Random random(5);
  int cut = 0;
  const int rounds = test::kind_is_slow() ? 100 : 3000;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t rows = random.between(8, 40), columns = random.between(1, 9);
    const auto whole =
        arange<int>(int((rows + 6) * (columns + 3))).reshape({rows + 6, columns + 3});
    const auto window = [&] {
      const std::int64_t top = random.between(0, 6), left = random.between(0, 3);
      return whole(range(top, top + rows), range(left, left + columns));
    };
    const auto out = window(), a = window(), b = window();
    auto expected = values(a);
    const auto other = values(b);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
    const bool banded = add_in_bands(out, a, b, 4 * columns * random.between(1, 8));
    cut += banded;
    if (banded) {
      ASSERT_EQ(values(out), expected) << "round " << round;
    }
  }
  EXPECT_GT(cut, rounds / 10);  // else the test would say nothing
}

TEST(Bands, AStencilCanBeCutAndReadingFarBehindOrATransposeCannot) {
  const auto u = arange<int>(40 * 40).reshape({40, 40});
  const auto in = range(1, -1);
  const auto up = u(range(_, -2), in), down = u(range(2, _), in), middle = u(in, in);
  EXPECT_TRUE(add_in_bands(middle, up, down, 4 * 38 * 4));
  const auto ahead = u(range(8, _)), behind = u(range(_, -8));
  EXPECT_FALSE(add_in_bands(ahead, behind, behind, 4 * 40 * 2));
  EXPECT_TRUE(add_in_bands(behind, ahead, ahead, 4 * 40 * 2));
  EXPECT_FALSE(add_in_bands(u, u.transpose(), u, 4 * 40 * 4));
  EXPECT_FALSE(add_in_bands(u(range(_, _, -1)), u, u, 4 * 40 * 4));
  EXPECT_FALSE(add_in_bands(u, u(0), u, 4 * 40 * 4));  // one row, read for all bands
}

TEST(Bands, ALargeStencilInPlaceIsThatOfPlainLoops) {
  const std::int64_t n = 3400;  // 46 MB: several bands
  std::vector<float> host(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = float(i * 2654435761u % 1000);
  auto u = to_device(host).reshape({n, n});
  const auto in = range(1, -1);
  u(in, in) =
      0.25f * (u(range(2, _), in) + u(range(_, -2), in) + u(in, range(2, _)) + u(in, range(_, -2)));
  std::vector<float> got(host.size());
  u.copy_to_host(got);
  const auto at = [&](std::int64_t r, std::int64_t c) { return host[std::size_t(r * n + c)]; };
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      const bool inside = r > 0 && c > 0 && r < n - 1 && c < n - 1;
      const float want =
          inside ? 0.25f * (at(r + 1, c) + at(r - 1, c) + at(r, c + 1) + at(r, c - 1)) : at(r, c);
      ASSERT_EQ(got[std::size_t(r * n + c)], want) << r << ", " << c;
    }
  }
}

}  // namespace
}  // namespace quarry::expr
