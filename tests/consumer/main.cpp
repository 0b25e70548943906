// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <iostream>

int main() {
  const auto x = quarry::arange<float>(10);
  const float total = quarry::sum(x * 2.f).item();
  std::cout << x << "\n" << total << "\n";
  return total == 90.f ? 0 : 1;
}
