// SPDX-License-Identifier: BSD-3-Clause
#include "accuracy/measure.hpp"

namespace quarry::accuracy {
namespace {

/// Half a unit is what rounding costs. The 16-bit types are computed in float and rounded.
template <class T>
double bound_of(double ulps) {
  return sizeof(T) == 2 && ulps > 0.5 ? 1 : ulps;
}

template <class T>
void unary(const Settings& settings, std::vector<Result>& results) {
  Random random(settings.seed);
  const auto x = unary_operands<T>(settings.draws, random);
  const auto row = [&](const char* name, auto f, double bound) {
    measure(settings, results, name, f, Metric::each_part, bound_of<T>(bound), x);
  };
// clang-format off
#define EXACT(name) row(#name, QUARRY_CALL(name), 0);
#define ROUNDED(name) row(#name, QUARRY_CALL(name), 0.5);
#define CLOSE(name) row(#name, QUARRY_CALL(name), 4);
  EXACT(abs) EXACT(rint) EXACT(floor) EXACT(ceil) EXACT(trunc)
  ROUNDED(square) ROUNDED(reciprocal) ROUNDED(sqrt)
  CLOSE(cbrt) CLOSE(exp) CLOSE(exp2) CLOSE(expm1) CLOSE(log) CLOSE(log2) CLOSE(log10)
  CLOSE(log1p) CLOSE(sin) CLOSE(cos) CLOSE(tan) CLOSE(asin) CLOSE(acos) CLOSE(atan)
  CLOSE(sinh) CLOSE(cosh) CLOSE(tanh) CLOSE(asinh) CLOSE(acosh) CLOSE(atanh)
#undef EXACT
#undef ROUNDED
#undef CLOSE
  // clang-format on
}

template <class T>
void binary(const Settings& settings, std::vector<Result>& results) {
  Random random(settings.seed + 1);
  const auto x = binary_operands<T>(settings.draws, random);
  const auto row = [&](const char* name, auto f, double bound) {
    measure(settings, results, name, f, Metric::each_part, bound_of<T>(bound), x);
  };
// clang-format off
#define ROW(name, ulps) row(#name, QUARRY_CALL(name), ulps);
  ROW(copysign, 0) ROW(fmod, 0)
  ROW(add, 0.5) ROW(subtract, 0.5) ROW(multiply, 0.5) ROW(divide, 0.5)
  ROW(power, 4) ROW(atan2, 4) ROW(hypot, 4)
#undef ROW
  // clang-format on
}

}  // namespace

void measure_real(const Settings& settings, std::vector<Result>& results) {
  unary<Eigen::half>(settings, results);
  unary<Eigen::bfloat16>(settings, results);
  unary<float>(settings, results);
  unary<double>(settings, results);
  binary<Eigen::half>(settings, results);
  binary<Eigen::bfloat16>(settings, results);
  binary<float>(settings, results);
  binary<double>(settings, results);
}

}  // namespace quarry::accuracy
