// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

struct File {
  explicit File(const char* name) {
    const auto path = std::filesystem::path(__FILE__).parent_path() / name;
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    bytes.resize(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    for (std::size_t at = 0; at < bytes.size();) {
      const auto length = static_cast<std::size_t>(bytes[at++]);
      const std::string key = text.substr(at, length);
      std::uint32_t size = 0;
      std::memcpy(&size, bytes.data() + at + length, 4);
      at += length + 4;
      entries[key] = std::span(bytes).subspan(at, size);
      at += size;
    }
  }
  std::vector<std::byte> bytes;
  std::map<std::string, std::span<const std::byte>> entries;
};

/// The entries of all files; no key is in two.
const auto& entries() {
  static const File files[] = {File("cases.bin"), File("scalar_cases.bin"), File("shape_cases.bin"),
                               File("index_cases.bin")};
  static const auto all = [] {
    std::map<std::string, std::span<const std::byte>> found;
    for (const File& file : files) found.insert(file.entries.begin(), file.entries.end());
    return found;
  }();
  return all;
}

/// A component of an element: an integer, or a floating number with the step at its magnitude and
/// the power of two past the largest number.
struct Component {
  long double value, step, past = 0;
};

template <class T>
std::vector<Component> components(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof(T));
  const auto step = [](auto x, int digits, int least) {
    const int exponent = std::isfinite(x) && x != 0 ? std::ilogb(x) : least;
    return std::ldexp(1.0L, std::max(exponent, least) - digits);
  };
  if constexpr (requires { v.imag(); }) {
    using R = typename T::value_type;
    const R big = std::max(std::abs(v.real()), std::abs(v.imag()));
    const long double s =
        step(big, std::numeric_limits<R>::digits - 1, std::numeric_limits<R>::min_exponent - 1);
    const long double past = std::ldexp(1.0L, std::numeric_limits<R>::max_exponent);
    return {{v.real(), s, past}, {v.imag(), s, past}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{static_cast<long double>(v), 0}};
  } else if constexpr (std::is_same_v<T, Eigen::half>) {
    return {{float(v), step(float(v), 10, -14), 0x1p16L}};
  } else if constexpr (std::is_same_v<T, Eigen::bfloat16>) {
    return {{float(v), step(float(v), 7, -126), 0x1p128L}};
  } else {
    return {{v,
             step(v, std::numeric_limits<T>::digits - 1, std::numeric_limits<T>::min_exponent - 1),
             std::ldexp(1.0L, std::numeric_limits<T>::max_exponent)}};
  }
}

std::vector<Component> components_of(DType type, const std::byte* at) {
  std::vector<Component> result;
  visit(type, [&]<class T>() { result = components<T>(at); });
  return result;
}

bool close(const Component& got, const Component& want, const Tolerance& t, double bound) {
  if (std::isnan(got.value) || std::isnan(want.value)) {
    return std::isnan(got.value) && std::isnan(want.value);
  }
  if (got.value == want.value) {
    const bool same_sign = std::signbit(got.value) == std::signbit(want.value);
    return got.value != 0 || same_sign || t.either_zero || t.ulps > 0 || t.bound;
  }
  // an infinity is one step past the largest number
  const auto place = [&](const Component& c) {
    return std::isinf(c.value) ? std::copysign(c.past, c.value) : c.value;
  };
  const bool one_is_infinite = std::isinf(got.value) || std::isinf(want.value);
  if (one_is_infinite && t.ulps == 0) return false;
  const long double step = std::isinf(want.value) ? got.step : want.step;
  return std::abs(place(got) - place(want)) <=
         (one_is_infinite ? t.ulps * step : std::max<long double>(t.ulps * want.step, bound));
}

bool any_of_kind(const std::vector<Component>& c, bool (*is)(long double)) {
  return std::any_of(c.begin(), c.end(), [is](const Component& x) { return is(x.value); });
}

/// Complex numbers with an infinite or a NaN part stand for one infinity or NaN, whatever the other
/// part is.
bool same_special(const std::vector<Component>& got, const std::vector<Component>& want) {
  constexpr auto inf = [](long double v) { return std::isinf(v); };
  constexpr auto nan = [](long double v) { return std::isnan(v); };
  return got.size() == 2 && ((any_of_kind(got, inf) && any_of_kind(want, inf)) ||
                             (any_of_kind(got, nan) && any_of_kind(want, nan)));
}

}  // namespace

std::span<const std::byte> Reader::take(std::size_t n) {
  if (n > rest_.size()) throw std::runtime_error("an entry of the cases is too short");
  const auto part = rest_.first(n);
  rest_ = rest_.subspan(n);
  return part;
}

bool has(const std::string& key) { return entries().contains(key); }
Reader find(const std::string& key) {
  const auto found = entries().find(key);
  if (found == entries().end()) throw std::runtime_error("no case " + key);
  return Reader(found->second);
}

std::string difference(DType type, const std::byte* got, const std::byte* want, std::size_t count,
                       const Tolerance& tolerance) {
  std::size_t wrong = 0;
  std::ostringstream text;
  for (std::size_t i = 0; i < count; ++i) {
    const auto g = components_of(type, got + i * type.itemsize());
    const auto w = components_of(type, want + i * type.itemsize());
    const double bound = tolerance.bound ? tolerance.bound[i] : 0;
    bool right = true;
    for (std::size_t c = 0; c < w.size(); ++c) right &= close(g[c], w[c], tolerance, bound);
    if (!right && (tolerance.ulps > 0 || tolerance.bound)) right = same_special(g, w);
    if (right || ++wrong > 4) continue;
    text << "\n  [" << i << "]:";
    for (std::size_t c = 0; c < w.size(); ++c) text << ' ' << g[c].value << " for " << w[c].value;
  }
  if (wrong > 4) text << "\n  and " << wrong - 4 << " more";
  return text.str();
}

void expect_close(DType type, const std::byte* got, const std::byte* want, std::size_t count,
                  const Tolerance& tolerance, const std::string& what) {
  const std::string text = difference(type, got, want, count, tolerance);
  EXPECT_TRUE(text.empty()) << what << " differs from NumPy's:" << text;
}

}  // namespace quarry::conformance
