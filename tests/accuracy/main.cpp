// SPDX-License-Identifier: BSD-3-Clause
// The errors of every function for every floating type, on the default device, in units in the last
// place, against functions of 113 bits; the table of docs/numerics.md.
//     QUARRY_DEVICE=cuda accuracy [--draws 1000000] [--seed N] [--only function]
// Exits with 1 where an error is beyond its bound, or a special value is another.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <string_view>

#include "accuracy/measure.hpp"

namespace {

using namespace quarry::accuracy;

Settings parse(int argc, char** argv) {
  Settings settings{1000000, std::random_device{}(), ""};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--draws") settings.draws = std::stoull(argv[i + 1]);
    if (option == "--seed") settings.seed = std::stoull(argv[i + 1]);
    if (option == "--only") settings.only = argv[i + 1];
  }
  return settings;
}

/// A row a function, a column a type.
void print_table(const std::vector<Result>& results) {
  const char* const types[] = {"float16", "bfloat16",  "float32",
                               "float64", "complex64", "complex128"};
  std::vector<std::string> names;
  std::map<std::pair<std::string, std::string>, double> worst;
  for (const Result& r : results) {
    if (std::find(names.begin(), names.end(), r.function) == names.end())
      names.push_back(r.function);
    worst[{r.function, r.type}] = r.worst;
  }
  std::printf("| function |");
  for (const char* type : types) std::printf(" %s |", type);
  std::printf("\n|---|---|---|---|---|---|---|\n");
  for (const std::string& name : names) {
    std::printf("| `%s` |", name.c_str());
    for (const char* type : types) {
      const auto found = worst.find({name, type});
      found == worst.end() ? std::printf(" |") : std::printf(" %.3g |", found->second);
    }
    std::printf("\n");
  }
}

/// How many are beyond what is promised.
int print_failures(const std::vector<Result>& results) {
  int failures = 0;
  for (const Result& r : results) {
    if (r.worst > r.bound) {
      std::printf("%s of %s: %.4g, promised %g: %s\n", r.function.c_str(), r.type.c_str(), r.worst,
                  r.bound, r.where.c_str());
    }
    if (r.wrong > 0) {
      std::printf("%s of %s: %zu special values: %s\n", r.function.c_str(), r.type.c_str(), r.wrong,
                  r.wrong_where.c_str());
    }
    failures += r.worst > r.bound || r.wrong > 0;
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = parse(argc, argv);
  std::cout << "Device " << quarry::Device() << ", " << settings.draws << " draws, seed "
            << settings.seed << std::endl;
  std::vector<Result> results;
  measure_real(settings, results);
  measure_complex(settings, results);
  print_table(results);
  return print_failures(results) == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
