// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "accuracy/measure.hpp"

namespace quarry::accuracy {
namespace {

template <class T>
void unary(const Settings& settings, std::vector<Result>& results) {
  Random random(settings.seed + 2);
  const auto x = unary_operands<T>(settings.draws, random);
  // 2^40 log 2 keeps as many digits as the oracle has to spare; e^z - 1 is computed with twice the
  // digits as far as 2^20
  auto turned = x, moderate = x;
  const auto drop = [](auto& operands, double most) {
    std::erase_if(operands[0], [most](const T& z) {
      return std::isfinite(z.imag()) && double(std::abs(z.imag())) > most;
    });
  };
  drop(turned, 0x1p40);
  drop(moderate, 0x1p20);
  const auto row = [&](const char* name, auto f, Metric metric, double bound) {
    const auto is = [name](const char* other) { return std::string_view(name) == other; };
    const auto& operands = is("exp2") ? turned : is("expm1") ? moderate : x;
    measure(settings, results, name, f, metric, bound, operands);
  };
// clang-format off
#define PARTS(name) row(#name, QUARRY_CALL(name), Metric::each_part, 8);
#define WHOLE(name) row(#name, QUARRY_CALL(name), Metric::magnitude, 4);
  PARTS(abs) PARTS(sign) PARTS(sqrt)
  PARTS(exp) PARTS(exp2) PARTS(expm1) PARTS(log) PARTS(log2) PARTS(log10) PARTS(log1p)
  PARTS(sin) PARTS(cos) PARTS(tan) PARTS(asin) PARTS(acos) PARTS(atan)
  PARTS(sinh) PARTS(cosh) PARTS(tanh) PARTS(asinh) PARTS(acosh) PARTS(atanh)
  WHOLE(square) WHOLE(reciprocal)
#undef PARTS
#undef WHOLE
  // clang-format on
}

template <class T>
void binary(const Settings& settings, std::vector<Result>& results) {
  Random random(settings.seed + 3);
  const auto x = binary_operands<T>(settings.draws, random);
  const auto row = [&](const char* name, auto f, Metric metric, double bound) {
    measure(settings, results, name, f, metric, bound, x);
  };
#define ROW(name, metric, ulps) row(#name, QUARRY_CALL(name), Metric::metric, ulps);
  ROW(add, each_part, 0.5)
  ROW(subtract, each_part, 0.5)
  ROW(multiply, magnitude, 4) ROW(divide, magnitude, 8) ROW(power, power, 8)
#undef ROW
}

}  // namespace

void measure_complex(const Settings& settings, std::vector<Result>& results) {
  unary<std::complex<float>>(settings, results);
  unary<std::complex<double>>(settings, results);
  binary<std::complex<float>>(settings, results);
  binary<std::complex<double>>(settings, results);
}

}  // namespace quarry::accuracy
