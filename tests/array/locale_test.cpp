// SPDX-License-Identifier: BSD-3-Clause
// A global locale with a decimal comma changes neither what arrays print nor what errors say.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <locale>
#include <sstream>
#include <string>

namespace quarry {
namespace {

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class GlobalLocale {
 public:
  explicit GlobalLocale(const std::locale& locale) : before_(std::locale::global(locale)) {}
  GlobalLocale(const GlobalLocale&) = delete;
  GlobalLocale& operator=(const GlobalLocale&) = delete;
  ~GlobalLocale() { std::locale::global(before_); }

 private:
  std::locale before_;
};

/// Arrays of every kind of number, what expressions of plain numbers come to, and a message.
std::string texts() {
  std::ostringstream out;
  out << to_device({1.5, 1234567.25, 1e-30}) << to_device({1234567, -1000}) << to_device({1e9f})(0);
  out << eval(to_device({1000.5, 2.5}) * 1234.5 + 1e-3);
  out << zeros<float>({2000, 1})(range(0, 1)) << arange(0.0, 10000.0, 1234.5);
  try {
    out << zeros<float>({1234, 5678})(12345678);
  } catch (const Error& error) {
    out << error.what();
  }
  return out.str();
}

TEST(Locale, OfTheProgramChangesNoText) {
  const std::string want = texts();
  const GlobalLocale commas(std::locale(std::locale::classic(), new Commas));
  std::ostringstream own;
  own << 1234.5;
  ASSERT_EQ(own.str(), "1.234,5");
  EXPECT_EQ(texts(), want);
}

}  // namespace
}  // namespace quarry
