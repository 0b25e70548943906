// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <iostream>

/// Whether an error that the library throws is caught by its type, and is its base classes too.
static bool catches_errors() {
  try {
    quarry::arange<float>(10).reshape({3});
  } catch (const quarry::ShapeError& error) {
    const quarry::Error& base = error;
    return dynamic_cast<const quarry::LogicError*>(&base) != nullptr;
  }
  return false;
}

int main() {
  const auto x = quarry::arange<float>(10);
  const float total = quarry::sum(x * 2.f).item();
  std::cout << x << "\n" << total << "\n";
  return total == 90.f && catches_errors() ? 0 : 1;
}
